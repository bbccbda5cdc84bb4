"""What a verification found, as plain frozen data. Compares nothing and knows no engine."""

from __future__ import annotations

from dataclasses import dataclass

from migrate.errors import Diagnostic, Exit

METRIC = "largest difference / largest expected value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One comparison; `error` is None where nothing is measured. One that does not `decide` is supporting evidence."""

    check: str
    passed: bool
    case: str = ""
    batch: int | None = None
    error: float | None = None
    tolerance: float | None = None
    metric: str = ""
    engine: str = ""
    detail: str = ""
    decides: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """The first layer that differs from the source: its module path, the source's nodes, and how far it is off."""

    module: str
    nodes: tuple[str, ...] = ()
    error: float | None = None
    what: str = "output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """All rows of one verification, and what the user should know about it; `trained` says that the source was, too."""

    rows: tuple[Row, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    engine: str = ""
    first_difference: Layer | None = None
    trained: bool = False

    @property
    def passed(self) -> bool:
        """Whether there are deciding rows, all of them passed, and nothing failed to run."""
        deciding = [row for row in self.rows if row.decides]
        return bool(deciding) and all(row.passed for row in deciding) and not self.errors

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that make the conversion fail: parity (MIG501) and what could not be run."""
        return tuple(found for found in self.diagnostics if found.severity == "error")

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out or chosen for its cost, as sentences."""
        return tuple(str(found) for found in self.diagnostics if found.severity != "error")

    @property
    def reason(self) -> str:
        """Why it did not pass, in one line; empty where it did."""
        if self.passed:
            return ""
        return str(self.errors[0]) if self.errors else "nothing was compared"

    @property
    def status(self) -> Exit:
        """The exit status that this verification asks for."""
        return Exit.OK if self.passed else Exit.PARITY
