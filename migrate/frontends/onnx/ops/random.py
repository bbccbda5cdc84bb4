"""Dropout and random numbers. Dropout stays in the graph: it is nothing in evaluation, and something in training."""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value


def dropout(b: OnnxBuilder, data: Value, ratio: float) -> Value:
    """The module's op, off in evaluation.

    Raises:
        Unsupported: the mask is asked for.
    """
    if b.num_outputs > 1:
        raise Unsupported("the mask of Dropout is used")
    return b.dropout(data, p=float(ratio), training=False)


@onnx_op("Dropout", since=12)
def onnx_dropout(
    b: OnnxBuilder, data: Value, ratio: Value | None = None, training_mode: Value | None = None, *, seed: Any = None
) -> Value:
    """The ratio is an input. A source in training mode is the same module: train() and eval() rule it."""
    del seed, training_mode
    return dropout(b, data, b.number(ratio, 0.5))


@onnx_op("Dropout", since=1)
def onnx_dropout_1(
    b: OnnxBuilder, data: Value, *, ratio: float = 0.5, is_test: int = 0, consumed_inputs: Any = None
) -> Value:
    """The ratio is an attribute."""
    del is_test, consumed_inputs
    return dropout(b, data, ratio)
