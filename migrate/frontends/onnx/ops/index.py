"""Look-ups, scatters, sorting and masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.narrow import HALF
from migrate.frontends.onnx.ops.elementwise import named_type
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Dim, Value
from migrate.graph.builder import MAX_STATIC, objects

REDUCTIONS = {"mul": "prod", "max": "amax", "min": "amin"}


def within(b: OnnxBuilder, indices: Value, size: Any) -> Value:
    """Indices counted from the start, for callables that take no negative ones."""
    if indices.static is None and indices.weight is None:
        return b.where(b.lt(indices, 0), b.add(indices, size), indices)
    places = b.numbers(indices)
    if all(not isinstance(p, Dim) and p >= 0 for p in places):
        return indices
    counted = objects([p + size if not isinstance(p, Dim) and p < 0 else p for p in places])
    shape: Any = indices.shape
    return b.static(counted.reshape(shape), indices.dtype)


@onnx_op("Gather", learns=("data",))
def onnx_gather(b: OnnxBuilder, data: Value, indices: Value, *, axis: int = 0) -> Value:
    """Rows of a weight are an `embedding`, one place is a `select`; the rest is Python's indexing."""
    dim = axis % data.rank
    if indices.static is not None and not indices.rank:
        return b.select(data, dim, b.number(indices))
    if data.weight is not None and data.is_float and data.rank == 2 and dim == 0 and indices.static is None:
        return b.embedding(indices, data)
    if indices.static is not None and indices.rank == 1 and not data.is_float:
        return b.index_select(data, dim, within(b, indices, data.shape[dim]))
    return b.getitem(data, (*[slice(None)] * dim, indices))


@onnx_op("GatherElements", since=11)
def onnx_gather_elements(b: OnnxBuilder, data: Value, indices: Value, *, axis: int = 0) -> Value:
    """One index for each element of the result."""
    index = within(b, indices, data.shape[axis])
    return b.gather(data, axis, b.cast(index, "torch.int64") if index.dtype != "int64" else index)


@onnx_op("GatherND", since=11)
def onnx_gather_nd(b: OnnxBuilder, data: Value, indices: Value, *, batch_dims: int = 0) -> Value:
    """The last axis of the indices is a place in the data."""
    return b.gather_nd(data, indices, batch_dims=batch_dims) if batch_dims else b.gather_nd(data, indices)


@onnx_op("ScatterElements", since=11)
def onnx_scatter_elements(
    b: OnnxBuilder, data: Value, indices: Value, updates: Value, *, axis: int = 0, reduction: str = "none"
) -> Value:
    """Written over, added, multiplied, or the larger or smaller kept."""
    index = within(b, indices, data.shape[axis])
    index = b.cast(index, "torch.int64") if index.dtype != "int64" else index
    if reduction == "none":
        return b.scatter(data, axis, index, b.tensor(updates))
    if reduction == "add":
        return b.scatter_add(data, axis, index, updates)
    return b.scatter_reduce(data, axis, index, updates, REDUCTIONS[reduction])


@onnx_op("Scatter", since=9)
def onnx_scatter(b: OnnxBuilder, data: Value, indices: Value, updates: Value, *, axis: int = 0) -> Value:
    """The old name of ScatterElements."""
    return onnx_scatter_elements(b, data, indices, updates, axis=axis)


@onnx_op("ScatterND", since=11)
def onnx_scatter_nd(b: OnnxBuilder, data: Value, indices: Value, updates: Value, *, reduction: str = "none") -> Value:
    """The last axis of the indices is a place in the data."""
    return (
        b.scatter_nd(data, indices, updates, reduction) if reduction != "none" else b.scatter_nd(data, indices, updates)
    )


def topk(b: OnnxBuilder, x: Value, k: Any, axis: int, descending: bool) -> Any:
    """Of equal elements the one with the lower index comes first, which torch promises only of a stable sort."""
    values, indices = b.sort(x, dim=axis, descending=descending, stable=True)
    cut = (*[slice(None)] * (axis % x.rank), slice(None, k))
    return b.getitem(values, cut), b.getitem(indices, cut)


@onnx_op("TopK", since=10)
def onnx_topk(b: OnnxBuilder, X: Value, K: Value, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:
    """K is an input; `largest` and `sorted` came with opset 11."""
    del sorted  # sorted is one of the orders allowed where it is 0
    return topk(b, X, b.number(K), axis, bool(largest))


@onnx_op("TopK", since=1)
def onnx_topk_1(b: OnnxBuilder, X: Value, *, k: int, axis: int = -1) -> Any:
    """K is an attribute."""
    return topk(b, X, k, axis, True)


@onnx_op("OneHot", since=9)
def onnx_one_hot(b: OnnxBuilder, indices: Value, depth: Value, values: Value, *, axis: int = -1) -> Value:
    """An index out of range gives a row of off values."""
    count = int(b.number(depth))
    dim = axis % (indices.rank + 1)
    whole = b.cast(indices, "torch.int64") if indices.dtype != "int64" else indices
    places = b.reshape(b.arange(count), (count, *[1] * (indices.rank - dim)))
    hot = b.eq(b.unsqueeze(within(b, whole, count), dim), places)
    off, on = (b.select(values, 0, i) for i in (0, 1))
    made = b.where(hot, on, off)
    return made if made.dtype == values.dtype else b.cast(made, f"torch.{values.dtype}")


@onnx_op("ReverseSequence", since=10)
def onnx_reverse_sequence(
    b: OnnxBuilder, input: Value, sequence_lens: Value, *, batch_axis: int = 1, time_axis: int = 0
) -> Value:
    """Each sample's first places are turned round, as many as its length says."""
    return b.reverse_sequence(input, sequence_lens, batch_axis, time_axis)


@onnx_op("Trilu", since=14)
def onnx_trilu(b: OnnxBuilder, input: Value, k: Value | None = None, *, upper: int = 1) -> Value:
    """The upper or lower triangle, the diagonal shifted by k."""
    return (b.triu if upper else b.tril)(input, int(b.number(k, 0)))


@onnx_op("NonZero", since=9)
def onnx_non_zero(b: OnnxBuilder, X: Value) -> Value:
    """Of known values only: the size of any other result depends on the data."""
    if X.static is None or any(isinstance(v, Dim) for v in X.static.reshape(-1).tolist()):
        raise Unsupported("the size of NonZero's result depends on the data")
    return b.static(np.array(np.nonzero(X.static.astype(bool))), "int64")


@onnx_op("ConstantOfShape", since=9)
def onnx_constant_of_shape(b: OnnxBuilder, input: Value, *, value: Any = None) -> Value:
    """A float of a fixed shape is a tensor of the model, as files whose weights were cut out have them."""
    shape = tuple(b.numbers(input))
    filler: np.ndarray[Any, Any] = value.numpy().reshape(-1)[:1] if value is not None else np.zeros(1, "float32")
    dtype, item = str(filler.dtype), filler[0].item()
    dtype = HALF.get(dtype, dtype)
    if any(isinstance(size, Dim) for size in shape):
        return b.full(shape, item, dtype=f"torch.{dtype}")
    if not shape or (not dtype.startswith("float") and np.prod(shape) <= MAX_STATIC):
        return b.static(np.full(shape, item, dtype=object), dtype)
    return b.source(b.output_names[0], lambda: np.full(shape, item, dtype=dtype), dtype, shape)


@onnx_op("Range", since=11)
def onnx_range(b: OnnxBuilder, start: Value, limit: Value, delta: Value, *, stash_type: int = 1) -> Value:
    """Known where its bounds are numbers, made at run time where they are sizes."""
    del stash_type  # a 16-bit range is computed in float32 in any case
    first, last, step = b.number(start), b.number(limit), b.number(delta)
    bounds = (first, last, step)
    if not start.is_float and not any(isinstance(v, Dim) for v in bounds):
        places = range(first, last, step)
        if len(places) <= MAX_STATIC:
            return b.static(np.array(places, dtype=object), start.dtype)
    return b.arange(first, last, step, dtype=f"torch.{start.dtype}")


@onnx_op("EyeLike", since=9)
def onnx_eye_like(b: OnnxBuilder, input: Value, *, dtype: int | None = None, k: int = 0) -> Value:
    """Ones on a diagonal."""
    name = input.dtype if dtype is None else named_type(dtype)
    rows, columns = b.arange(input.shape[0]), b.arange(input.shape[1])
    return b.cast(b.eq(b.unsqueeze(b.add(rows, k), 1), columns), f"torch.{name}")


@onnx_op("Compress", since=9)
def onnx_compress(b: OnnxBuilder, input: Value, condition: Value, *, axis: int | None = None) -> Value:
    """With a known condition: the places that it keeps."""
    places = [i for i, keep in enumerate(b.numbers(condition)) if keep]
    data = b.reshape(input, (-1,)) if axis is None else input
    return b.index_select(data, axis or 0, b.static(np.array(places, dtype=object), "int64"))
