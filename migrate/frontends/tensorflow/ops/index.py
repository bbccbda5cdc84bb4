"""Look-ups, selection and sorting."""

from __future__ import annotations

from typing import Any

from migrate.frontends.tensorflow.builder import Handle, Laid, TensorflowBuilder, needs
from migrate.frontends.tensorflow.registry import Unsupported, tf_op
from migrate.graph import Value


def gathered(b: TensorflowBuilder, params: Value, indices: Value, axis: int) -> Value:
    """Rows of a table where it is a weight, else elements along an axis."""
    axis %= params.rank
    if params.weight is not None and params.rank == 2 and axis == 0 and params.is_float and indices.static is None:
        return b.embedding(indices, params)
    if indices.static is not None and indices.rank == 0:
        return b.select(params, axis, b.number(indices))
    if indices.rank == 1:
        return b.index_select(params, axis, indices)
    flat = b.index_select(params, axis, b.reshape(indices, (-1,)))
    return b.reshape(flat, (*params.shape[:axis], *indices.shape, *params.shape[axis + 1 :]))


@tf_op("GatherV2")
def tf_gather_v2(b: TensorflowBuilder, params: Value, indices: Value, axis: Value, *, batch_dims: int = 0) -> Value:
    """Along an axis."""
    place = int(b.number(axis)) % params.rank
    if batch_dims == 1 and place == 1 and indices.rank == 2:
        shape = (*indices.shape, *[1] * (params.rank - 2))
        index = b.cast(b.reshape(indices, shape), "torch.int64")
        return b.take_along_dim(params, index, 1)
    needs(batch_dims == 0, f"batch_dims = {batch_dims}")
    return gathered(b, params, indices, place)


@tf_op("Gather")
def tf_gather(b: TensorflowBuilder, params: Value, indices: Value) -> Value:
    """Along the first axis."""
    return gathered(b, params, indices, 0)


@tf_op("ResourceGather", layout="laid")
def tf_resource_gather(b: TensorflowBuilder, resource: Any, indices: Laid, *, batch_dims: int = 0) -> Value:
    """Rows of a variable."""
    if not isinstance(resource, Handle) or batch_dims:
        raise Unsupported("rows of what is no variable, or of several at once")
    return gathered(b, b.variable(resource.variable), b.to_source(indices).value, 0)


@tf_op("GatherNd")
def tf_gather_nd(b: TensorflowBuilder, params: Value, indices: Value) -> Value:
    """Each index is a place in the first axes."""
    return b.gather_nd(params, b.cast(indices, "torch.int64"))


@tf_op("OneHot")
def tf_one_hot(
    b: TensorflowBuilder, indices: Value, depth: Value, on_value: Value, off_value: Value, *, axis: int = -1
) -> Value:
    """A vector for each number, with one element that differs; a number that is out of range has none."""
    on, off = b.number(on_value), b.number(off_value)
    places = b.arange(b.number(depth), dtype=f"torch.{indices.dtype}")
    needs(axis in (-1, indices.rank), f"axis = {axis}")
    hit = b.eq(b.unsqueeze(indices, indices.rank), places)
    made = b.cast(hit, f"torch.{on_value.dtype}")
    return made if (on, off) == (1, 0) else b.add(b.mul(made, on - off), off)


@tf_op("TopKV2")
def tf_top_k(b: TensorflowBuilder, input: Value, k: Value, *, sorted: bool = True, index_type: str = "int32") -> Any:
    """The largest elements along the last axis, and where they are."""
    del sorted
    values, places = b.topk(input, int(b.number(k)))
    return values, b.cast(places, f"torch.{index_type}")


@tf_op("ScatterNd")
def tf_scatter_nd(b: TensorflowBuilder, indices: Value, updates: Value, shape: Value) -> Value:
    """Rows are added to their places in zeros."""
    zeros = b.full(tuple(b.numbers(shape)), 0, dtype=f"torch.{updates.dtype}")
    return b.scatter_nd(zeros, b.cast(indices, "torch.int64"), updates, "add")


@tf_op("TensorScatterUpdate")
def tf_tensor_scatter_update(b: TensorflowBuilder, tensor: Value, indices: Value, updates: Value) -> Value:
    """Rows are put in their places."""
    return b.scatter_nd(tensor, b.cast(indices, "torch.int64"), updates, "none")


@tf_op("TensorScatterAdd")
def tf_tensor_scatter_add(b: TensorflowBuilder, tensor: Value, indices: Value, updates: Value) -> Value:
    """Rows are added to their places."""
    return b.scatter_nd(tensor, b.cast(indices, "torch.int64"), updates, "add")


@tf_op("ReverseSequence")
def tf_reverse_sequence(
    b: TensorflowBuilder, input: Value, seq_lengths: Value, *, seq_dim: int, batch_dim: int = 0
) -> Value:
    """The first so many steps of each sample the other way round."""
    return b.reverse_sequence(input, b.cast(seq_lengths, "torch.int64"), batch_dim, seq_dim)
