"""Moving, joining, cutting and making tensors, where the ATen form differs from the public one."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.registry import Unsupported, aten_op
from migrate.graph import Builder, Value, batch
from migrate.graph.sizes import equal


@aten_op("aten.view.default", "aten.reshape", "aten._unsafe_view", "aten._reshape_alias")
def aten_view(b: Builder, self: Value, size: Any, *ignored: Any) -> Value:
    """Another shape; where export has fixed the batch in it, the batch is free again."""
    return batch.reshape(b, self, list(size))


@aten_op("aten.view_as", "aten.reshape_as")
def aten_view_as(b: Builder, self: Value, other: Value) -> Value:
    """The shape of another tensor."""
    return batch.reshape(b, self, list(other.shape))


@aten_op("aten.view.dtype")
def aten_view_dtype(b: Builder, self: Value, dtype: str) -> Value:
    """The same bytes as another type."""
    raise Unsupported("a tensor's bytes are read as another type")


@aten_op("aten.flatten.using_ints")
def aten_flatten(b: Builder, self: Value, start_dim: int = 0, end_dim: int = -1) -> Value:
    """Axes joined."""
    if self.rank and start_dim % self.rank == end_dim % self.rank:
        return self
    return b.flatten(self, start_dim, *(() if end_dim == -1 else (end_dim,)))


@aten_op("aten.unflatten.int")
def aten_unflatten(b: Builder, self: Value, dim: int, sizes: Any) -> Value:
    """An axis in parts."""
    return b.unflatten(self, dim, tuple(sizes))


@aten_op("aten.matrix_H", "aten.mH", "aten.adjoint")
def aten_adjoint(b: Builder, self: Value) -> Value:
    """The last two axes exchanged, and conjugated where complex."""
    return b.adjoint(self) if "complex" in self.dtype else b.transpose(self, -2, -1)


@aten_op("aten.t", "aten.numpy_T", "aten.mT")
def aten_t(b: Builder, self: Value) -> Value:
    """The last two axes exchanged."""
    return self if self.rank < 2 else b.transpose(self, -2, -1)


@aten_op("aten.permute")
def aten_permute(b: Builder, self: Value, dims: Any) -> Value:
    """Axes in another order."""
    return b.permute(self, tuple(dims)) if dims else self


@aten_op("aten.transpose.int", "aten.swapaxes", "aten.swapdims")
def aten_transpose(b: Builder, self: Value, dim0: int, dim1: int) -> Value:
    """Two axes exchanged."""
    return self if self.rank == 0 or dim0 % self.rank == dim1 % self.rank else b.transpose(self, dim0, dim1)


@aten_op("aten.movedim", "aten.moveaxis")
def aten_movedim(b: Builder, self: Value, source: Any, destination: Any) -> Value:
    """Axes moved to other places."""
    froms = [source] if isinstance(source, int) else list(source)
    tos = [destination] if isinstance(destination, int) else list(destination)
    order: list[Any] = [None] * self.rank
    for a, z in zip(froms, tos, strict=True):
        order[z % self.rank] = a % self.rank
    rest = iter(k for k in range(self.rank) if k not in order)
    return b.permute(self, tuple(next(rest) if k is None else k for k in order))


@aten_op("aten.squeeze.default")
def aten_squeeze(b: Builder, self: Value) -> Value:
    """Without axes of length 1."""
    dims = tuple(k for k, size in enumerate(self.shape) if size == 1)
    return b.squeeze(self, dims) if dims else self


@aten_op("aten.squeeze.dim", "aten.squeeze.dims")
def aten_squeeze_dim(b: Builder, self: Value, dim: Any) -> Value:
    """Without these axes, where they have length 1."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    kept = tuple(d for d in dims if self.rank and self.shape[d] == 1)
    return b.squeeze(self, kept[0] if len(kept) == 1 else kept) if kept else self


@aten_op("aten.expand")
def aten_expand(b: Builder, self: Value, size: Any, *, implicit: bool = False) -> Value:
    """Axes of length 1 repeated; a batch that export has fixed is free again."""
    target = batch.repeated(b, self, list(size))
    own = [None] * (len(target) - self.rank) + list(self.shape)
    if all(s is not None and (t == -1 or equal(s, t)) for s, t in zip(own, target, strict=True)):
        return self
    return b.expand(self, tuple(target))


@aten_op("aten.expand_as")
def aten_expand_as(b: Builder, self: Value, other: Value) -> Value:
    """To the shape of another tensor."""
    return aten_expand(b, self, other.shape)


@aten_op("aten.repeat")
def aten_repeat(b: Builder, self: Value, repeats: Any) -> Value:
    """Laid out again and again."""
    return b.repeat(self, tuple(batch.repeated(b, self, list(repeats)))) if repeats else self


@aten_op("aten.tile")
def aten_tile(b: Builder, self: Value, dims: Any) -> Value:
    """As `repeat`, with fewer numbers than axes allowed."""
    return aten_repeat(b, self, (*[1] * (self.rank - len(dims)), *dims))


@aten_op("aten.cat", "aten.concat", "aten.concatenate")
def aten_cat(b: Builder, tensors: Any, dim: int = 0) -> Value:
    """Joined along an axis; empty vectors are skipped, as torch does."""
    parts = [t for t in tensors if not (t.rank == 1 and t.shape[0] == 0)] or list(tensors[:1])
    return parts[0] if len(parts) == 1 else b.cat(tuple(parts), dim=dim)


@aten_op("aten.stack")
def aten_stack(b: Builder, tensors: Any, dim: int = 0) -> Value:
    """Joined along a new axis."""
    return b.stack(tuple(tensors), dim=dim)


@aten_op("aten.pad")
def aten_pad(b: Builder, self: Value, pad: Any, mode: str = "constant", value: Any = None) -> Value:
    """Margins."""
    return b.pad(
        self, tuple(pad), **({} if mode == "constant" else {"mode": mode}), **({} if not value else {"value": value})
    )


@aten_op("aten.constant_pad_nd")
def aten_constant_pad_nd(b: Builder, self: Value, pad: Any, value: Any = 0) -> Value:
    """Margins of one number."""
    return aten_pad(b, self, pad, "constant", value)


@aten_op("aten.meshgrid.indexing", "aten.meshgrid.default")
def aten_meshgrid(b: Builder, tensors: Any, *, indexing: str = "ij") -> Any:
    """Coordinates of a grid."""
    sizes = [t.shape[0] if t.rank else 1 for t in tensors]
    order = [1, 0, *range(2, len(tensors))] if indexing == "xy" and len(tensors) > 1 else list(range(len(tensors)))
    shape = tuple(sizes[k] for k in order)
    made: list[Value] = []
    for k, t in enumerate(tensors):
        place = order.index(k)
        row = b.reshape(t, tuple(sizes[k] if i == place else 1 for i in range(len(tensors))))
        made.append(b.expand(row, shape))
    return tuple(made)


@aten_op("aten.im2col")
def aten_im2col(b: Builder, self: Value, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Value:
    """Patches as columns."""
    return b.unfold(self, tuple(kernel_size), tuple(dilation), tuple(padding), tuple(stride))


@aten_op("aten.col2im")
def aten_col2im(
    b: Builder, self: Value, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Value:
    """Columns as patches, added up where they overlap."""
    return b.fold(self, tuple(output_size), tuple(kernel_size), tuple(dilation), tuple(padding), tuple(stride))


@aten_op("aten.broadcast_tensors")
def aten_broadcast_tensors(b: Builder, tensors: Any) -> Any:
    """Every tensor in the shape that all of them have together."""
    rank = max(t.rank for t in tensors)
    shape: list[Any] = [1] * rank
    for t in tensors:
        for axis, size in enumerate(t.shape, rank - t.rank):
            shape[axis] = size if shape[axis] == 1 else shape[axis]
    return tuple(aten_expand(b, t, tuple(shape)) for t in tensors)


# ---- making tensors


def _dtype(dtype: str | None, fallback: str = "torch.float32") -> str:
    return "torch.float32" if dtype in ("torch.float16", "torch.bfloat16") else dtype or fallback


@aten_op("aten.zeros", "aten.empty.memory_format", "aten.new_zeros", "aten.new_empty")
def aten_zeros(b: Builder, *args: Any, dtype: str | None = None, **ignored: Any) -> Value:
    """Zeros; what is not initialised is written before it is read."""
    return _full_of(b, args, 0, dtype)


@aten_op("aten.ones", "aten.new_ones")
def aten_ones(b: Builder, *args: Any, dtype: str | None = None, **ignored: Any) -> Value:
    """Ones."""
    return _full_of(b, args, 1, dtype)


def _full_of(b: Builder, args: tuple[Any, ...], value: Any, dtype: str | None) -> Value:
    like = args[0] if isinstance(args[0], Value) else None
    size: Any = args[0] if like is None else args[1]
    kind = _dtype(dtype, f"torch.{like.dtype}" if like is not None else "torch.float32")
    return b.full(tuple(size), value, dtype=kind)


@aten_op("aten.full", "aten.new_full")
def aten_full(b: Builder, *args: Any, dtype: str | None = None, **ignored: Any) -> Value:
    """One number."""
    value = args[-1]
    if dtype is None and not isinstance(args[0], Value):
        dtype = "torch.bool" if isinstance(value, bool) else "torch.int64" if isinstance(value, int) else None
    return _full_of(b, args[:-1], value, dtype)


@aten_op("aten.zeros_like", "aten.empty_like")
def aten_zeros_like(b: Builder, self: Value, *, dtype: str | None = None, **ignored: Any) -> Value:
    """Zeros in the shape of a tensor."""
    return b.zeros_like(self) if dtype is None else b.zeros_like(self, dtype=_dtype(dtype))


@aten_op("aten.ones_like")
def aten_ones_like(b: Builder, self: Value, *, dtype: str | None = None, **ignored: Any) -> Value:
    """Ones in the shape of a tensor."""
    return b.ones_like(self) if dtype is None else b.ones_like(self, dtype=_dtype(dtype))


@aten_op("aten.full_like")
def aten_full_like(b: Builder, self: Value, fill_value: Any, *, dtype: str | None = None, **ignored: Any) -> Value:
    """One number in the shape of a tensor."""
    return b.full_like(self, fill_value, **({} if dtype is None else {"dtype": _dtype(dtype)}))


@aten_op("aten.arange")
def aten_arange(b: Builder, *args: Any, dtype: str | None = None, **ignored: Any) -> Value:
    """Numbers in steps."""
    whole = not any(isinstance(a, float) for a in args)
    return b.arange(*args, **({} if dtype is None else {"dtype": _dtype(dtype)} if whole or dtype else {}))


@aten_op("aten.linspace")
def aten_linspace(b: Builder, start: Any, end: Any, steps: Any, *, dtype: str | None = None, **ignored: Any) -> Value:
    """Numbers at equal distances."""
    return b.linspace(start, end, steps, **({} if dtype is None else {"dtype": _dtype(dtype)}))


@aten_op("aten.scalar_tensor")
def aten_scalar_tensor(b: Builder, s: Any, *, dtype: str | None = None, **ignored: Any) -> Value:
    """A number as a tensor."""
    return b.full((), s, dtype=_dtype(dtype))


@aten_op("aten.one_hot")
def aten_one_hot(b: Builder, self: Value, num_classes: int = -1) -> Value:
    """Needs a number of classes."""
    if num_classes < 0:
        raise Unsupported("one_hot without a number of classes", "give num_classes")
    return b.one_hot(self, num_classes)


@aten_op("aten.size.int")
def aten_size(b: Builder, input: Value, dim: int) -> Any:
    """The form that TorchScript traces."""
    return input.shape[dim]


@aten_op("aten.resize_as")
def aten_resize_as(b: Builder, self: Value, the_template: Value, *, memory_format: Any = None) -> Value:
    """Memory of another's size, for what is written there."""
    del self, memory_format
    return b.mul(the_template, 0)


@aten_op("aten.block_diag")
def aten_block_diag(b: Builder, tensors: Any) -> Value:
    """Matrices along a diagonal."""
    return b.block_diag(*tensors)


@aten_op("aten.cartesian_prod")
def aten_cartesian_prod(b: Builder, tensors: Any) -> Value:
    """Every combination of the elements of vectors."""
    return b.cartesian_prod(*tensors)


@aten_op("aten.unfold")
def aten_unfold(b: Builder, self: Value, dimension: int, size: int, step: int) -> Value:
    """Windows along an axis, as a new last axis."""
    return b.unfold_axis(self, dimension, size, step)
