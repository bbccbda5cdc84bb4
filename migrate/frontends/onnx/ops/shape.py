"""Shapes: moving, joining and cutting."""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import onnx_op
from migrate.graph import InferenceError, Value, batch


@onnx_op("Shape")
def onnx_shape(b: OnnxBuilder, data: Value, *, start: int = 0, end: int | None = None) -> Value:
    """The sizes themselves, known from here on."""
    return b.static(list(data.shape)[start:end], "int64")


@onnx_op("Reshape", since=5)
def onnx_reshape(b: OnnxBuilder, data: Value, shape: Value, *, allowzero: int = 0) -> Value:
    """0 copies the input's size unless `allowzero`; a batch baked into the target becomes free again."""
    target = [data.shape[i] if size == 0 and not allowzero else size for i, size in enumerate(b.numbers(shape))]
    return b.reshape(data, tuple(target)) if data.static is not None else batch.reshape(b, data, target)


@onnx_op("Transpose")
def onnx_transpose(b: OnnxBuilder, data: Value, *, perm: Any = None) -> Value:
    """Without `perm` the axes are reversed."""
    return b.permute(data, perm or tuple(reversed(range(data.rank))))


@onnx_op("Squeeze", since=13)
def onnx_squeeze(b: OnnxBuilder, data: Value, axes: Value | None = None) -> Value:
    """Only axes of size 1 may go; torch would leave the others silently."""
    chosen = [i for i, size in enumerate(data.shape) if size == 1] if axes is None else b.numbers(axes)
    for axis in chosen:
        if data.shape[axis] != 1:
            raise InferenceError(f"axis {axis} of size {data.shape[axis]} cannot be squeezed")
    return b.squeeze(data, tuple(chosen))
