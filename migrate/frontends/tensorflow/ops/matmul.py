"""Products of matrices."""

from __future__ import annotations

from typing import Any

from migrate.frontends.tensorflow.builder import Laid, TensorflowBuilder
from migrate.frontends.tensorflow.registry import tf_op
from migrate.graph import Value
from migrate.graph.sizes import equal


def _turned(b: TensorflowBuilder, x: Value, turn: bool) -> Value:
    return b.transpose(x, x.rank - 2, x.rank - 1) if turn else x


@tf_op("MatMul", layout="laid")
def tf_mat_mul(
    b: TensorflowBuilder, a: Laid, c: Laid, *, transpose_a: bool = False, transpose_b: bool = False
) -> Value:
    """A layer where the second is a weight; behind a flattened image its rows are put in the image's order."""
    second = b.to_source(c).value
    if second.weight is None or second.rank != 2 or transpose_a:
        return b.matmul(_turned(b, b.to_source(a).value, transpose_a), _turned(b, second, transpose_b))
    first, kernel = a.value, second if transpose_b else b.permute(second, (1, 0))
    if a.flat is not None:
        order = (0, len(a.flat), *range(1, len(a.flat)))
        kernel = b.reshape(b.permute(b.reshape(kernel, (kernel.shape[0], *a.flat)), order), kernel.shape)
    else:
        first = b.to_source(a).value
    before = _rows_of(first)
    if before is not None:
        return b.reshape(b.linear(before, kernel, None), (-1, kernel.shape[0]))
    return b.linear(first, kernel, None)


def _rows_of(x: Value) -> Value | None:
    """The tensor of more axes that was made a matrix just before, its last axis kept; a layer takes it as it is."""
    before = x.node.args[0] if x.node is not None and x.node.op.name in ("reshape", "flatten") else None
    if not isinstance(before, Value) or before.rank < 3 or before.weight is not None:
        return None
    return before if equal(before.shape[-1], x.shape[-1]) else None


@tf_op("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def tf_batch_mat_mul(b: TensorflowBuilder, x: Value, y: Value, *, adj_x: bool = False, adj_y: bool = False) -> Value:
    """The product of the last two axes; a layer where the second is a matrix of weights."""
    if y.weight is not None and y.rank == 2 and not adj_x and y.is_float:
        return b.linear(x, y if adj_y else b.permute(y, (1, 0)), None)
    return b.matmul(_turned(b, x, adj_x), _turned(b, y, adj_y))


@tf_op("Einsum")
def tf_einsum(b: TensorflowBuilder, *inputs: Value, equation: str) -> Value:
    """Einstein's sum."""
    return b.einsum(equation, *inputs)


@tf_op("BiasAdd", "BiasAddV1", layout="laid")
def tf_bias_add(b: TensorflowBuilder, value: Laid, bias: Laid, *, data_format: str = "NHWC") -> Any:
    """One number for each channel."""
    if data_format.startswith("NC"):
        x = b.to_source(value).value
        return b.add(x, b.reshape(bias.value, (-1, *[1] * (x.rank - 2))))
    values, first, flat = b.alike([b.unflattened(value), bias])
    return Laid(b.add(*values), first, flat)
