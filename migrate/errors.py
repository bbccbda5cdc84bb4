"""What a user is told when something is wrong: diagnostics as values, gathered and printed once.

A leaf module: every part of the tool may import it, and it imports nothing of ours.

Codes are stable: MIG1xx input, MIG2xx operator, MIG3xx training semantics, MIG4xx target, MIG5xx parity.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

Severity = Literal["error", "warning", "note"]


class Exit(IntEnum):
    """Exit status of the command line, and `MigrateError.status` of the Python API."""

    OK = 0
    BUG = 1
    USAGE = 2
    INPUT = 3
    UNSUPPORTED = 4
    PARITY = 5
    DEGRADED = 6
    INTERRUPTED = 130


def printable(text: str) -> str:
    """The text with control characters spelled out: a model's names must not write to the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One thing a user should know: what, where, why, and what to do."""

    code: str
    severity: Severity
    what: str
    where: str = ""
    why: str = ""
    todo: str = ""

    def __str__(self) -> str:
        place = f" at {self.where}" if self.where else ""
        why = f" ({self.why})" if self.why else ""
        todo = f" -> {self.todo}" if self.todo else ""
        return printable(f"{self.code} {self.severity}: {self.what}{place}{why}{todo}")


class MigrateError(Exception):
    """A user's fault or an unsupported construct: carries every diagnostic and the exit status."""

    def __init__(self, diagnostics: Iterable[Diagnostic], status: Exit) -> None:
        self.diagnostics = tuple(diagnostics)
        self.status = status
        super().__init__("\n".join(str(d) for d in self.diagnostics))


def error(code: str, what: str, *, where: str = "", why: str = "", todo: str = "") -> Diagnostic:
    """A diagnostic of severity `error`."""
    return Diagnostic(code=code, severity="error", what=what, where=where, why=why, todo=todo)
