"""Operators that draw random numbers. One that is off in evaluation only follows the mode."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.registry import aten_op
from migrate.graph import Builder, ByMode, Value


def _dropout(b: Builder, kind: str, input: Value, p: float, train: Any) -> Value:
    if isinstance(train, ByMode):
        return getattr(b, kind)(input, p)
    return getattr(b, f"constant_{kind}")(input, p, True) if train else input


@aten_op("aten.dropout")
def aten_dropout(b: Builder, input: Value, p: float, train: Any) -> Value:
    """Off in both forms: nothing; on in both: drawn in evaluation as well."""
    return _dropout(b, "dropout", input, p, train)


@aten_op("aten.alpha_dropout")
def aten_alpha_dropout(b: Builder, input: Value, p: float, train: Any) -> Value:
    """Keeps mean and variance."""
    return _dropout(b, "alpha_dropout", input, p, train)


@aten_op("aten.feature_dropout")
def aten_feature_dropout(b: Builder, input: Value, p: float, train: Any) -> Value:
    """Whole channels."""
    return b.feature_dropout(input, p, train) if train is not False else input


@aten_op("aten.feature_alpha_dropout")
def aten_feature_alpha_dropout(b: Builder, input: Value, p: float, train: Any) -> Value:
    """Whole channels, keeping mean and variance."""
    return b.feature_alpha_dropout(input, p, train) if train is not False else input


def _sizes(b: Builder, size: Any) -> tuple[Any, ...]:
    """The sizes; where export fixed the batch, one of the first axis that is the same follows it."""
    first, *rest = size
    is_batch = b.graph.batch is not None and b.declared_batch > 1 and first == b.declared_batch
    return (b.graph.batch if is_batch else first, *rest)


@aten_op("aten.rand")
def aten_rand(b: Builder, size: Any, *, dtype: Any = None) -> Value:
    """Random numbers between 0 and 1, drawn at every call."""
    return b.rand(_sizes(b, size), **({} if dtype is None else {"dtype": dtype}))


@aten_op("aten.randn")
def aten_randn(b: Builder, size: Any, *, dtype: Any = None) -> Value:
    """Normal random numbers, drawn at every call."""
    return b.randn(_sizes(b, size), **({} if dtype is None else {"dtype": dtype}))


@aten_op("aten.uniform")
def aten_uniform(b: Builder, self: Value, low: float = 0.0, high: float = 1.0) -> Value:
    """A tensor filled with random numbers between two."""
    drawn = b.rand_like(self)
    drawn = drawn if high - low == 1.0 else b.mul(drawn, high - low)
    return b.add(drawn, low) if low else drawn


@aten_op("aten.normal.default")
def aten_normal(b: Builder, self: Value, mean: float = 0.0, std: float = 1.0) -> Value:
    """A tensor filled with normal random numbers."""
    drawn = b.randn_like(self)
    drawn = drawn if std == 1.0 else b.mul(drawn, std)
    return b.add(drawn, mean) if mean else drawn


@aten_op("aten.randint", "aten.randint.low")
def aten_randint(b: Builder, *bounds_and_size: Any, dtype: Any = None) -> Value:
    """Random integers, drawn at every call."""
    *bounds, size = bounds_and_size
    return b.randint(*bounds, _sizes(b, size), **({} if dtype is None else {"dtype": dtype}))


@aten_op("aten.exponential")
def aten_exponential(b: Builder, self: Value, lambd: float = 1.0) -> Value:
    """A tensor filled from an exponential distribution."""
    return b.exponential(self, lambd)
