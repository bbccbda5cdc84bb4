"""Sizes that are not known until run time, held as three sampled values and the expression that made them.

A `Dim` is compared by its values alone: two sizes that agree at all three assignments are one size. Its expression is
kept for printing. Arithmetic that comes out the same at every assignment is a plain `int` again. Knows no tensor library.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from migrate.graph.ir import Value

NUM_SAMPLES = 3


class SizeError(Exception):
    """A decision that would differ between the sampled sizes, so it cannot be taken while the graph is built."""


@dataclass(frozen=True, slots=True, eq=False)
class SizeOf:
    """The size of one axis of a value; `name` is the source's symbol, where it has one."""

    value: Value
    axis: int
    name: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Apply:
    """An arithmetic operation on sizes."""

    op: str
    args: tuple[Any, ...]


Expr = SizeOf | Apply
Number = int | float
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "/": operator.truediv,
    "%": operator.mod,
    "min": min,
    "max": max,
    "floor": math.floor,
    "ceil": math.ceil,
    "float": float,
    "int": int,
}


class Dim:
    """A size as its values at the sampled assignments plus the expression that made it."""

    __slots__ = ("expr", "values")

    def __init__(self, values: tuple[Number, ...], expr: Expr) -> None:
        self.values = values
        self.expr = expr

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self.values == other.values

    def __hash__(self) -> int:
        return hash(self.values)

    def __repr__(self) -> str:
        return render(self)

    def __add__(self, other: Any) -> Any:
        return self if other == 0 else apply("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return self if other == 0 else apply("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return self if other == 0 else apply("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return apply("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return self if other == 1 else apply("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self if other == 1 else apply("*", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self if other == 1 else apply("//", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return apply("//", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self if other == 1 else apply("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return apply("/", other, self)

    def __mod__(self, other: Any) -> Any:
        return apply("%", self, other)

    def __neg__(self) -> Any:
        return apply("-", 0, self)

    def __lt__(self, other: Any) -> bool:
        return decide("<", operator.lt, self, other)

    def __le__(self, other: Any) -> bool:
        return decide("<=", operator.le, self, other)

    def __gt__(self, other: Any) -> bool:
        return decide(">", operator.gt, self, other)

    def __ge__(self, other: Any) -> bool:
        return decide(">=", operator.ge, self, other)


Size = int | Dim


def at(size: Any, sample: int) -> Any:
    """The value of a size at one assignment."""
    return size.values[sample] if isinstance(size, Dim) else size


def apply(op: str, *args: Any) -> Any:
    """Apply an operation at each assignment; equal results are a plain number."""
    values = tuple(_FUNCTIONS[op](*(at(a, k) for a in args)) for k in range(NUM_SAMPLES))
    return values[0] if len(set(values)) == 1 else Dim(values, Apply(op, args))


def decide(symbol: str, compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    """A comparison that must come out the same at every assignment.

    Raises:
        SizeError: where it does not.
    """
    answers = {compare(at(left, k), at(right, k)) for k in range(NUM_SAMPLES)}
    if len(answers) == 2:
        raise SizeError(f"`{left} {symbol} {right}` depends on the input's sizes")
    return answers.pop()


def numel(shape: tuple[Size, ...] | list[Size]) -> Size:
    """The number of elements of a shape."""
    total: Any = 1
    for size in shape:
        total = total * size
    return total


def equal(left: Any, right: Any) -> bool:
    """Whether two sizes agree at every assignment."""
    return all(at(left, k) == at(right, k) for k in range(NUM_SAMPLES))


def render(
    size: Any,
    leaf: Callable[[SizeOf], str] | None = None,
    top: bool = True,
    literal: Callable[[Any], str] = repr,
) -> str:
    """A size as a Python expression; `leaf` says how the size of a value's axis is written, `literal` how a number is."""
    if not isinstance(size, Dim):
        return literal(size)
    if isinstance(size.expr, SizeOf):
        return leaf(size.expr) if leaf else size.expr.name or f"{size.expr.value.name}.shape[{size.expr.axis}]"
    infix = size.expr.op in ("+", "-", "*", "//", "/", "%")
    args = [render(a, leaf, top=not infix, literal=literal) for a in size.expr.args]
    if infix:
        text = f"{args[0]} {size.expr.op} {args[1]}"
        return text if top else f"({text})"
    name = f"math.{size.expr.op}" if size.expr.op in ("floor", "ceil") else size.expr.op
    return f"{name}({', '.join(args)})"
