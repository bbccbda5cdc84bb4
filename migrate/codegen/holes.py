"""Numbers of a text that are still open, and how numbers are written. Knows no graph."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

AXIS = "dim"  # what a number is called that is an axis: never a size


@dataclass(slots=True)
class Holes:
    """Numbers of a text that may differ between equal classes, each with what it is called."""

    values: list[Any] = field(default_factory=list[Any])
    hints: list[str] = field(default_factory=list[str])
    widths: list[bool] = field(default_factory=list[bool])

    def add(self, value: Any, hint: str, is_width: bool = False) -> str:
        """The text of a number; one that `is_width` grows with the model's width."""
        if type(value) is bool or value is None or (type(value) is int and -2 <= value <= 2):
            return repr(value)
        self.values.append(value)
        self.hints.append(hint)
        self.widths.append(is_width)
        return hole(len(self.values) - 1)

    def length(self, text: str) -> int:
        """How long a text will be once its numbers are put in; whole ones are attributes then."""
        length = len(text)
        for index, (value, hint) in enumerate(zip(self.values, self.hints, strict=True)):
            if (mark := hole(index)) in text:
                length += len(f"self.{hint}" if type(value) is int and hint != AXIS else repr(value)) - len(mark)
        return length


def hole(index: int) -> str:
    """How an open number is written until it is known whether it is an argument."""
    return f"\x01{index}\x02"


def number(value: Any) -> str:
    """A literal of a number; the special floats have no literal of their own."""
    if isinstance(value, float) and not math.isfinite(value):
        return "math.nan" if math.isnan(value) else "math.inf" if value > 0 else "-math.inf"
    if isinstance(value, tuple):
        items: list[str] = [number(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if isinstance(value, str) and value.startswith("torch."):
        return value
    return repr(_short(value)) if isinstance(value, float) else repr(value)


def _short(value: float) -> float:
    """The shortest number that is the same float32, where the source stored a float32."""
    if float(np.float32(value)) != value:
        return value
    short = float(str(np.float32(value)))
    return short if abs(short) <= float(np.finfo(np.float32).max) else value  # the largest one rounds up
