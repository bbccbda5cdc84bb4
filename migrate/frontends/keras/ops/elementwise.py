"""Merging, and arithmetic on every element."""

from __future__ import annotations

from functools import reduce
from typing import Any

from migrate.frontends.keras.builder import KerasBuilder
from migrate.frontends.keras.registry import Unsupported, keras_layer
from migrate.graph import Step, Value


@keras_layer("Add", layout="any")
def keras_add(b: KerasBuilder, xs: list[Value]) -> Value:
    """The sum."""
    return reduce(b.add, xs)


@keras_layer("Subtract", layout="any")
def keras_subtract(b: KerasBuilder, xs: list[Value]) -> Value:
    """The difference of two."""
    return b.sub(*xs)


@keras_layer("Multiply", layout="any")
def keras_multiply(b: KerasBuilder, xs: list[Value]) -> Value:
    """The product."""
    return reduce(b.mul, xs)


@keras_layer("Average", layout="any")
def keras_average(b: KerasBuilder, xs: list[Value]) -> Value:
    """The mean."""
    return b.div(reduce(b.add, xs), len(xs))


@keras_layer("Maximum", layout="any")
def keras_maximum(b: KerasBuilder, xs: list[Value]) -> Value:
    """The largest."""
    return reduce(b.maximum, xs)


@keras_layer("Minimum", layout="any")
def keras_minimum(b: KerasBuilder, xs: list[Value]) -> Value:
    """The smallest."""
    return reduce(b.minimum, xs)


@keras_layer("Rescaling", layout="any")
def keras_rescaling(b: KerasBuilder, x: Value, *, scale: Any, offset: Any = 0.0) -> Value:
    """A factor and an offset."""
    if not isinstance(scale, int | float) or not isinstance(offset, int | float):
        raise Unsupported("a scale or an offset for each channel")
    scaled = x if scale == 1 else b.mul(x, float(scale))
    return b.add(scaled, float(offset)) if offset else scaled


@keras_layer("Normalization", variables=("mean", "variance", "count"))
def keras_normalization(
    b: KerasBuilder, x: Value, *, axis: Any = -1, mean: Any = None, variance: Any = None, invert: bool = False
) -> Value:
    """By the data's mean and deviation, which are no parameters."""
    if mean is not None or variance is not None or invert or axis not in (-1, [-1], x.rank - 1, [x.rank - 1]):
        raise Unsupported("another axis than the last, given statistics, or the inverse")
    size = Step("reshape", (x.shape[-1],))
    deviation = b.maximum(b.sqrt(b.variable("variance", size)), b.static(1e-7, "float32"))
    return b.div(b.sub(x, b.variable("mean", size)), deviation)


@keras_layer("Add", layout="any", operation=True)
def keras_op_add(b: KerasBuilder, x: Any, y: Any) -> Value:
    """`x + y`."""
    return b.add(x, y)


@keras_layer("Subtract", layout="any", operation=True)
def keras_op_subtract(b: KerasBuilder, x: Any, y: Any) -> Value:
    """`x - y`."""
    return b.sub(x, y)


@keras_layer("Multiply", layout="any", operation=True)
def keras_op_multiply(b: KerasBuilder, x: Any, y: Any) -> Value:
    """`x * y`."""
    return b.mul(x, y)


@keras_layer("TrueDivide", "Divide", layout="any", operation=True)
def keras_op_divide(b: KerasBuilder, x: Any, y: Any) -> Value:
    """`x / y`."""
    return b.div(x, y)


@keras_layer("Relu", layout="any", operation=True)
def keras_op_relu(b: KerasBuilder, x: Value) -> Value:
    """`keras.ops.relu`."""
    return b.relu(x)
