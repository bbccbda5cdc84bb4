"""Cutting an axis into parts."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.registry import Unsupported, aten_op
from migrate.graph import Builder, Dim, Value


@aten_op(
    "aten.split.Tensor",
    "aten.split.sizes",
    "aten.split_with_sizes",
    "aten.unsafe_split",
    "aten.unsafe_split_with_sizes",
)
def aten_split(b: Builder, self: Value, split_size: Any, dim: int = 0) -> Any:
    """Parts of an axis, by one size or by many."""
    if isinstance(split_size, int):
        total = self.shape[dim]
        if not isinstance(total, int):
            raise Unsupported("a free axis is split by a number: how many parts there are is not known")
        whole, rest = divmod(total, split_size)
        split_size = [split_size] * whole + ([rest] if rest else [])
    return b.split(self, tuple(split_size), dim=dim)


@aten_op("aten.chunk", "aten.unsafe_chunk")
def aten_chunk(b: Builder, self: Value, chunks: int, dim: int = 0) -> Any:
    """A number of equal parts of an axis."""
    total = self.shape[dim]
    if all(size % chunks == 0 for size in (total.values if isinstance(total, Dim) else (total,))):
        return b.chunk(self, chunks, dim=dim)
    if isinstance(total, int):
        return aten_split(b, self, -(-total // chunks), dim)
    raise Unsupported(f"an axis of {total} in {chunks} parts")


@aten_op("aten.tensor_split.sections", "aten.tensor_split.indices")
def aten_tensor_split(b: Builder, self: Value, sections: Any, dim: int = 0) -> Any:
    """Parts that are equal or longer by one at the front, or that end at places."""
    total = self.shape[dim]
    if isinstance(sections, int):
        if not isinstance(total, int):
            return aten_chunk(b, self, sections, dim)
        whole, rest = divmod(total, sections)
        return b.split(self, tuple(whole + (k < rest) for k in range(sections)), dim=dim)
    ends = [min(total, end) if isinstance(total, int) else end for end in sections]
    return b.split(self, tuple(end - start for start, end in zip([0, *ends], [*ends, total], strict=True)), dim=dim)


@aten_op("aten.unbind.int")
def aten_unbind(b: Builder, self: Value, dim: int = 0) -> Any:
    """Every place of an axis."""
    return b.unbind(self, dim)
