"""What fusions of normalisations share: the axes they run over, and the scale and the shift that join them.

Knows the graph and its weights, no particular normalisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match
from migrate.graph.ir import Node, Value
from migrate.graph.pattern import Either, Pattern, call, either
from migrate.graph.sizes import Dim

_sqrt, _rsqrt, _reciprocal, _pow, _div, _mul = map(call, ("sqrt", "rsqrt", "reciprocal", "pow", "div", "mul"))


def over_root(value: Pattern, under: Pattern) -> Either:
    """The ways to divide a value by a square root."""
    return either(_div(value, either(_sqrt(under), _pow(under, 0.5))), _mul(value, inverse_root(under)))


def inverse_root(under: Pattern) -> Either:
    """The ways to write one over a square root."""
    return either(_rsqrt(under), _reciprocal(_sqrt(under)), _div(1.0, _sqrt(under)), _pow(under, -0.5))


def axes_of(arg: Any, rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in order; all of them where None is given."""
    if arg is None:
        return tuple(range(rank))
    given: Sequence[int] = [arg] if isinstance(arg, int) else arg
    return tuple(sorted(axis % rank for axis in given))


def last_sizes(x: Value, axes: Sequence[int]) -> tuple[int, ...] | str:
    """The sizes of these axes, where they are the last ones and fixed, or what is wrong with them."""
    if tuple(axes) != tuple(range(x.rank - len(axes), x.rank)) or not axes:
        return f"axes {tuple(axes)} of {x.rank} are not the last ones"
    sizes = fixed_sizes(x, axes)
    return sizes if len(sizes) == len(axes) else f"the size of one of the axes {tuple(axes)} is not fixed"


def channels_of(x: Value) -> tuple[int, ...]:
    """The number of channels, where it is fixed."""
    return fixed_sizes(x, (1,))


def fixed_sizes(x: Value, axes: Sequence[int]) -> tuple[int, ...]:
    """The sizes of these axes but for the free ones."""
    return tuple(size for size in (x.shape[axis] for axis in axes) if not isinstance(size, Dim))


def why_not_vector(m: Match, value: Any, sizes: tuple[int, ...], norm: Node, trailing: int = 0) -> str | None:
    """What speaks against this being the scale or the shift of a normalisation: a tensor of these sizes, before `trailing`
    axes of one and after any number of them."""
    if not isinstance(value, Value) or value.weight is None:
        return "it is computed, not a tensor of the model"
    wanted = sizes + (1,) * trailing
    if value.shape != (1,) * (value.rank - len(wanted)) + wanted:
        return f"%{value.name} is {list(value.shape)}, not {list(sizes)}"
    if value.dtype != norm.output.dtype:
        return f"%{value.name} is {value.dtype}, what is normalised {norm.output.dtype}"
    homes = value.weight.homes
    if homes and not any(tuple(home.split(".")[:-1]) == norm.scope for home in homes):
        return f"%{value.name} belongs to another module of the source"
    if value.shape != sizes and (homes or m.users(value) > 1):
        return f"%{value.name} is used in its own shape elsewhere"
    return None


def why_not_pair(scale: Any, shift: Value) -> str | None:
    """Two copies of one tensor in one node could not be told apart by the verification."""
    if isinstance(scale, Value) and scale.weight and shift.weight and shift.weight.source == scale.weight.source:
        return f"%{scale.name} and %{shift.name} are one tensor of the source" if shift.weight.source else None
    return None


def vector_of(b: Builder, value: Value, sizes: tuple[int, ...]) -> Value:
    """The scale or shift without axes of one around it."""
    return value if value.shape == sizes else b.reshape(value, sizes)
