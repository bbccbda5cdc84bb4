"""Axes of tensors that change alike, and those that stay. Knows sizes; no op."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from migrate.graph.ir import Value


@dataclass(slots=True)
class Axes:
    """Axes joined to groups; None is the group of those that are fixed."""

    above: dict[Any, Any] = field(default_factory=dict[Any, Any])

    def top(self, axis: Any) -> Any:
        """What stands for the axis's group."""
        while (above := self.above.get(axis, axis)) is not axis and above != axis:
            self.above[axis] = self.above.get(above, above)
            axis = above
        return axis

    def join(self, value: Value, axis: int, other: Value, other_axis: int) -> None:
        """Let two axes change alike; one whose size is not known before it runs cannot change here."""
        axis, other_axis = axis % value.rank, other_axis % other.rank
        known = isinstance(value.shape[axis], int), isinstance(other.shape[other_axis], int)
        if all(known):
            self._merge(self.top((value, axis)), self.top((other, other_axis)))
        elif any(known):
            self.fix(value, axis)
            self.fix(other, other_axis)

    def fix(self, value: Value, axis: int) -> None:
        """Let an axis stay."""
        self._merge(self.top((value, axis % value.rank)), None)

    def fix_all(self, values: Iterable[Value]) -> None:
        """Let all axes of tensors stay."""
        for value in values:
            for axis in range(value.rank):
                self.fix(value, axis)

    def is_fixed(self, value: Value, axis: int) -> bool:
        """Whether an axis stays."""
        return self.top((value, axis)) is None

    def _merge(self, one: Any, other: Any) -> None:
        if one is None:
            one, other = other, one
        if one is not None and one != other:
            self.above[one] = other
