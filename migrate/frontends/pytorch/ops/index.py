"""Look-ups, selection and sorting whose ATen form differs from the public one."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.registry import Unsupported, aten_op
from migrate.graph import Builder, Value


@aten_op("aten.embedding")
def aten_embedding(
    b: Builder, weight: Value, indices: Value, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Value:  # fmt: skip
    """Rows of a table. A padding index, whose row gets no gradient, is -1 where there is none."""
    if scale_grad_by_freq or sparse:
        raise Unsupported("an embedding with sparse gradients or gradients scaled by frequency")
    kwargs = {} if padding_idx < 0 else {"padding_idx": padding_idx}
    return b.embedding(indices, weight, **kwargs)


@aten_op("aten.index.Tensor")
def aten_index(b: Builder, self: Value, indices: Any) -> Value:
    """`self[i, :, j]`; None stands for a whole axis."""
    places = tuple(slice(None) if i is None else i for i in indices)
    if any(isinstance(i, Value) and i.dtype == "bool" for i in places):
        raise Unsupported(
            "the shape of the result depends on how many elements of a mask are true",
            "use torch.where or masked_fill instead of indexing with a mask",
        )
    return b.getitem(self, places[0] if len(places) == 1 else places)


@aten_op("aten.index_put")
def aten_index_put(b: Builder, self: Value, indices: Any, values: Value, accumulate: bool = False) -> Value:
    """`self[i, j] = values`, as a new tensor; a mask over all axes is a choice."""
    if len(indices) == 1 and indices[0].dtype == "bool" and not accumulate and values.rank == 0:
        mask = indices[0]
        for _ in range(self.rank - mask.rank):
            mask = b.unsqueeze(mask, mask.rank)
        return b.where(mask, values, self)
    return b.index_put(self, _full(b, self, indices), values, accumulate)


def _full(b: Builder, self: Value, indices: Any) -> tuple[Value, ...]:
    """Indices for every axis up to the last one that is indexed."""
    if all(i is not None for i in indices):
        return tuple(indices)
    axes = [k for k, i in enumerate(indices) if i is None]
    given = [i for i in indices if i is not None]
    if len(given) != 1 or given[0].rank > 1:
        raise Unsupported("an assignment by several indices beside whole axes")
    count = len(indices)
    whole: list[Value] = []
    for k, index in enumerate(indices):
        made = b.arange(self.shape[k]) if k in axes else index
        whole.append(b.reshape(made, (*[1] * k, -1, *[1] * (count - k - 1))))
    return tuple(whole)


@aten_op("aten.select.int")
def aten_select(b: Builder, self: Value, dim: int, index: Any) -> Value:
    """One place of an axis, which goes."""
    return b.getitem(self, (*[slice(None)] * (dim % self.rank), index))


@aten_op("aten.slice.Tensor")
def aten_slice(b: Builder, self: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Value:
    """A range of an axis."""
    end = None if isinstance(end, int) and end >= 2**62 else end
    start = None if start == 0 else start
    if start is None and (end is None or end == self.shape[dim]) and step == 1:
        return self
    return b.getitem(self, (*[slice(None)] * (dim % self.rank), slice(start, end, None if step == 1 else step)))


@aten_op("aten.narrow")
def aten_narrow(b: Builder, self: Value, dim: int, start: Any, length: Any) -> Value:
    """A range of an axis, by its length."""
    return aten_slice(b, self, dim, start, start + length)


@aten_op("aten.masked_fill")
def aten_masked_fill(b: Builder, self: Value, mask: Value, value: Any) -> Value:
    """A number, or a tensor of one, where the mask is true."""
    return b.masked_fill(self, mask, value)


@aten_op(
    "aten.masked_scatter",
    "aten.masked_select",
    "aten.nonzero",
    "aten.nonzero_numpy",
    "aten.unique_dim",
    "aten._unique2",
)
def aten_depends_on_content(b: Builder, *args: Any, **kwargs: Any) -> Value:
    """The shape of the result is not known before it is computed."""
    del b, args, kwargs
    raise Unsupported("the result's shape depends on the content of a tensor", "use torch.where with a mask")


@aten_op("aten.embedding_renorm_")
def aten_embedding_renorm(b: Builder, self: Value, indices: Value, max_norm: float, norm_type: float) -> Value:
    """The rows that are looked up are shortened first, in the table itself."""
    b.embedding_renorm(self, indices, max_norm, norm_type)
    return self
