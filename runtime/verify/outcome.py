"""What a verification says: one `Check` for each thing compared, and all as a JSON document. Compares nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One comparison; `error` and `tolerance` are relative, and None where there is nothing to measure.

    An informative one that does not pass is shown and fails nothing.
    """

    name: str
    passed: bool
    error: float | None = None
    tolerance: float | None = None
    detail: str = ""
    informative: bool = False

    @property
    def failed(self) -> bool:
        """Whether it speaks against the package."""
        return not (self.passed or self.informative)


def measured(name: str, error: float, tolerance: float, detail: str = "", informative: bool = False) -> Check:
    """A check that passes where `error` is at most `tolerance`; an error that is no number never passes."""
    passed = error <= tolerance
    return Check(name=name, passed=passed, error=error, tolerance=tolerance, detail=detail, informative=informative)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The checks of one package on one device."""

    package: str
    device: str
    checks: Sequence[Check]

    @property
    def passed(self) -> bool:
        """Whether there are checks and none failed."""
        return bool(self.checks) and not any(check.failed for check in self.checks)

    def document(self) -> dict[str, Any]:
        """As JSON values; an error that is no finite number becomes None."""
        return {
            "schema": SCHEMA,
            "package": self.package,
            "device": self.device,
            "passed": self.passed,
            "checks": [
                {
                    "name": check.name,
                    "passed": check.passed,
                    "error": check.error if check.error is not None and math.isfinite(check.error) else None,
                    "tolerance": check.tolerance,
                    "detail": check.detail,
                    "informative": check.informative,
                }
                for check in self.checks
            ],
        }

    def lines(self) -> list[str]:
        """As text, one line for each check, and the verdict."""
        shown = [self._line(check) for check in self.checks]
        failed = sum(check.failed for check in self.checks)
        verdict = "verified" if self.passed else f"FAILED: {failed} of {len(self.checks)} checks"
        return [*shown, f"{self.package} on {self.device}: {verdict}"]

    def _line(self, check: Check) -> str:
        numbers = "" if check.error is None else f"  error {check.error:.2e}, tolerance {check.tolerance:.0e}"
        detail = f"  {check.detail}" if check.detail else ""
        mark = "ok  " if check.passed else "FAIL" if check.failed else "note"
        return f"{mark}  {check.name}{numbers}{detail}"
