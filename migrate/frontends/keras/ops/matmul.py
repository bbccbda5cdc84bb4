"""Products with a matrix."""

from __future__ import annotations

from typing import Any

from migrate.frontends.keras.builder import KerasBuilder
from migrate.frontends.keras.ops.activation import activate
from migrate.frontends.keras.registry import keras_layer
from migrate.graph import Step, Value


@keras_layer("Dense", variables=("kernel", "bias"))
def keras_dense(b: KerasBuilder, x: Value, *, units: int, activation: Any = None, use_bias: bool = True) -> Value:
    """Behind a Flatten whose order of elements is another here, the rows of the kernel follow."""
    steps = [Step("permute", (1, 0))]
    if b.flat is not None:
        *spatial, channels = b.flat
        last, size = len(b.flat), channels
        for part in spatial:
            size *= part
        order = (last, last - 1, *range(last - 1))
        steps = [Step("reshape", (*b.flat, units)), Step("permute", order), Step("reshape", (units, size))]
    b.flat = None
    bias = b.variable("bias") if use_bias else None
    return activate(b, b.linear(x, b.variable("kernel", *steps), bias), activation)
