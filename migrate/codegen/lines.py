"""A written body as data: statements whose numbers are still open. Knows how an open number is written, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from migrate.codegen.holes import Holes, hole
from migrate.graph.ir import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A statement with open numbers; `shown` is the value whose shape its comment gives."""

    text: str
    shown: Value | None = None


@dataclass(slots=True, kw_only=True)
class Body:
    """A written body: parameters as (name, annotation), lines, what is returned, and the open numbers of all."""

    parameters: list[tuple[str, str]]
    lines: list[Line]
    result: str
    holes: Holes
    runtime: tuple[str, ...] = ()

    def uses(self, index: int) -> bool:
        """Whether an open number is in a text: what was written anew left its own behind."""
        return any(hole(index) in text for text in (self.result, *(line.text for line in self.lines)))
