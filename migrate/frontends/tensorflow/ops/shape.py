"""Shapes: moving, joining and cutting. On known sizes all of it is folded away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from migrate.frontends.tensorflow.builder import Laid, TensorflowBuilder, needs
from migrate.frontends.tensorflow.registry import tf_op
from migrate.graph import Dim, InferenceError, Value, batch
from migrate.graph.sizes import equal, numel


@tf_op("Shape", "ShapeN", layout="laid")
def tf_shape(b: TensorflowBuilder, *input: Laid, out_type: str = "int32") -> Any:
    """The sizes themselves, known from here on."""
    return [b.static(list(b.unflattened(item).shape), out_type) for item in input]


@tf_op("Size", layout="laid")
def tf_size(b: TensorflowBuilder, input: Laid, *, out_type: str = "int32") -> Value:
    """The number of elements."""
    return b.static(numel(input.value.shape), out_type)


@tf_op("Rank", layout="laid")
def tf_rank(b: TensorflowBuilder, input: Laid) -> Value:
    """The number of axes."""
    return b.static(input.rank, "int32")


@tf_op("Reshape", layout="laid")
def tf_reshape(b: TensorflowBuilder, tensor: Laid, shape: Laid) -> Any:
    """An image in a row remembers its shape, a row in one place of an image has its channels second."""
    target = b.numbers(shape)
    x = tensor.value
    if tensor.flat is None and (flattened := _flattened(b, tensor, target)) is not None:
        return flattened
    if (undone := _undone(x, target)) is not None and not tensor.first and tensor.flat is None:
        return undone
    if not tensor.first and tensor.flat is None and len(target) > 3 and x.rank == 2 and _is_place(x, target):
        return Laid(b.reshape(x, (*x.shape, *[1] * (len(target) - 2))), True)
    x = b.to_source(tensor).value
    return b.reshape(x, tuple(target)) if x.static is not None else batch.reshape(b, x, target)


def _flattened(b: TensorflowBuilder, x: Laid, target: Sequence[Any]) -> Laid | None:
    """An image with its channels second, every sample in a row."""
    sizes = x.shape[1:]
    if not x.first or len(target) != 2 or any(isinstance(size, Dim) for size in sizes):
        return None
    rows, length = target
    whole = equal(length, numel(sizes)) or (length == -1 and equal(rows, x.shape[0]))
    if not whole:
        return None
    is_place = all(size == 1 for size in sizes[:-1])  # one place has one order
    return Laid(b.flatten(x.value, 1), flat=None if is_place else tuple(int(s) for s in sizes))  # pyright: ignore[reportArgumentType]


def _undone(x: Value, target: Sequence[Any]) -> Value | None:
    """What was put into another shape only for the time between, as a matrix product of more axes is computed."""
    before = x.node.args[0] if x.node is not None and x.node.op.name in ("reshape", "flatten") else None
    if not isinstance(before, Value) or before.static is not None or before.rank != len(target) or target.count(-1) > 1:
        return None
    return before if all(t == -1 or equal(t, s) for t, s in zip(target, before.shape, strict=True)) else None


def _is_place(x: Value, target: Sequence[Any]) -> bool:
    """Whether a row of channels is put into an image of a single place."""
    last = equal(target[-1], x.shape[1]) or target[-1] == -1
    return last and all(size == 1 for size in target[1:-1]) and (target[0] == -1 or equal(target[0], x.shape[0]))


@tf_op("Transpose", layout="laid")
def tf_transpose(b: TensorflowBuilder, x: Laid, perm: Laid) -> Value:
    """Of an image with its channels second only what is left to turn."""
    x = b.unflattened(x)
    order = tuple(x.axis(int(axis)) for axis in b.numbers(perm))
    return x.value if order == tuple(range(x.rank)) else b.permute(x.value, order)


@tf_op("ExpandDims", layout="laid")
def tf_expand_dims(b: TensorflowBuilder, input: Laid, dim: Laid) -> Any:
    """A new axis; one before the channels leaves those where they are."""
    axis = int(b.number(dim)) % (input.rank + 1)
    if input.first and 0 < axis < input.rank:
        return Laid(b.unsqueeze(input.value, axis + 1), True)
    return b.unsqueeze(b.to_source(input).value, axis)


@tf_op("Squeeze", layout="laid")
def tf_squeeze(b: TensorflowBuilder, input: Laid, *, squeeze_dims: Any = ()) -> Any:
    """Only axes of size 1 may go."""
    x = b.unflattened(input)
    axes = {int(a) % x.rank for a in squeeze_dims} or {i for i, size in enumerate(x.shape) if size == 1}
    for axis in axes:
        if x.shape[axis] != 1:
            raise InferenceError(f"axis {axis} of size {x.shape[axis]} cannot be squeezed")
    if x.first and (0 in axes or x.rank - 1 in axes):
        x = b.to_source(x)
    dims = tuple(sorted(x.axis(axis) for axis in axes))
    made = b.squeeze(x.value, dims[0] if len(dims) == 1 else dims) if dims else x.value
    return Laid(made, x.first and made.rank > 2)


@tf_op("ConcatV2", layout="laid")
def tf_concat_v2(b: TensorflowBuilder, *values: Any) -> Any:
    """Along an axis, which is the last input."""
    return joined(b, values[:-1], int(b.number(values[-1])))


@tf_op("Concat", layout="laid")
def tf_concat(b: TensorflowBuilder, *values: Any) -> Any:
    """Along an axis, which is the first input."""
    return joined(b, values[1:], int(b.number(values[0])))


def joined(b: TensorflowBuilder, values: Sequence[Laid], axis: int) -> Any:
    """Tensors in one layout, one after another."""
    if len(values) == 1:
        return values[0]
    whole = [b.unflattened(item) for item in values]
    move = b.to_first if any(item.first for item in whole) else b.to_source
    whole = [move(item) for item in whole]
    return Laid(b.cat(tuple(item.value for item in whole), dim=whole[0].axis(axis)), whole[0].first)


@tf_op("Pack")
def tf_pack(b: TensorflowBuilder, *values: Value, axis: int = 0) -> Value:
    """Along a new axis."""
    return b.stack(values, axis % (values[0].rank + 1))


@tf_op("Unpack")
def tf_unpack(b: TensorflowBuilder, value: Value, *, num: int, axis: int = 0) -> Any:
    """The parts along an axis, without it."""
    if value.static is not None:
        place = (slice(None),) * (axis % value.rank)
        return [b.static(value.static[(*place, k)], value.dtype) for k in range(num)]
    return b.unbind(value, axis % value.rank)


@tf_op("Split", layout="laid")
def tf_split(b: TensorflowBuilder, axis: Laid, value: Laid, *, num_split: int) -> Any:
    """Into equal parts."""
    x = b.unflattened(value)
    dim = int(b.number(axis)) % x.rank
    size: Any = x.shape[dim]
    parts = b.split(x.value, (size // num_split,) * num_split, dim=x.axis(dim))
    return [Laid(part, x.first) for part in parts]


@tf_op("SplitV", layout="laid")
def tf_split_v(b: TensorflowBuilder, value: Laid, size_splits: Laid, axis: Laid, *, num_split: int = 1) -> Any:
    """Into parts of these sizes; -1 is what is left."""
    del num_split
    x = b.unflattened(value)
    dim = int(b.number(axis)) % x.rank
    sizes = b.numbers(size_splits)
    known = sum(size for size in sizes if size != -1)
    sizes = [x.shape[dim] - known if size == -1 else size for size in sizes]  # pyright: ignore[reportOperatorIssue]
    return [Laid(part, x.first) for part in b.split(x.value, tuple(sizes), dim=x.axis(dim))]


@tf_op("Tile")
def tf_tile(b: TensorflowBuilder, input: Value, multiples: Value) -> Value:
    """Repeated along each axis."""
    times = b.numbers(multiples)
    return input if all(equal(n, 1) for n in times) else b.repeat(input, tuple(times))


@tf_op("BroadcastTo")
def tf_broadcast_to(b: TensorflowBuilder, input: Value, shape: Value) -> Value:
    """Repeated to a shape."""
    return b.expand(input, tuple(b.numbers(shape)))


@tf_op("Fill")
def tf_fill(b: TensorflowBuilder, dims: Value, value: Value) -> Value:
    """One number everywhere."""
    number = b.number(value)
    return b.full(tuple(b.numbers(dims)), number, dtype=f"torch.{value.dtype}")


@tf_op("ZerosLike", layout="any")
def tf_zeros_like(b: TensorflowBuilder, x: Value) -> Value:
    """Zeros."""
    return b.zeros_like(x)


@tf_op("OnesLike", layout="any")
def tf_ones_like(b: TensorflowBuilder, x: Value) -> Value:
    """Ones."""
    return b.ones_like(x)


@tf_op("Range")
def tf_range(b: TensorflowBuilder, start: Value, limit: Value, delta: Value) -> Value:
    """Numbers in steps."""
    first, last, step = (b.number(v) for v in (start, limit, delta))
    if all(isinstance(n, int) for n in (first, last, step)) and abs(last - first) <= abs(step) * 1024:
        return b.static(list(range(first, last, step)), start.dtype)
    return b.arange(first, last, step, dtype=f"torch.{start.dtype}")


@tf_op("ReverseV2")
def tf_reverse_v2(b: TensorflowBuilder, tensor: Value, axis: Value) -> Value:
    """Turned round along axes."""
    return b.flip(tensor, tuple(int(a) % tensor.rank for a in b.numbers(axis)))


@tf_op("Roll")
def tf_roll(b: TensorflowBuilder, input: Value, shift: Value, axis: Value) -> Value:
    """Moved along axes, what leaves at one end comes in at the other."""
    return b.roll(input, tuple(b.numbers(shift)), tuple(int(a) for a in b.numbers(axis)))


@tf_op("MatrixBandPart")
def tf_matrix_band_part(b: TensorflowBuilder, input: Value, num_lower: Value, num_upper: Value) -> Value:
    """What lies near the diagonal; -1 keeps all of a side."""
    lower, upper = b.number(num_lower), b.number(num_upper)
    made = input if lower < 0 else b.triu(input, -lower)
    return made if upper < 0 else b.tril(made, upper)


@tf_op("DepthToSpace")
def tf_depth_to_space(b: TensorflowBuilder, input: Value, *, block_size: int, data_format: str = "NHWC") -> Value:
    """Blocks of channels become blocks of places."""
    needs(data_format == "NHWC", f"data_format = {data_format!r}")
    n, height, width, depth = input.shape
    inner: Any = depth // block_size**2  # pyright: ignore[reportOperatorIssue]
    parts = b.reshape(input, (n, height, width, block_size, block_size, inner))
    return b.reshape(b.permute(parts, (0, 1, 3, 2, 4, 5)), (n, height * block_size, width * block_size, inner))  # pyright: ignore[reportOperatorIssue]


@tf_op("SpaceToDepth")
def tf_space_to_depth(b: TensorflowBuilder, input: Value, *, block_size: int, data_format: str = "NHWC") -> Value:
    """Blocks of places become blocks of channels."""
    needs(data_format == "NHWC", f"data_format = {data_format!r}")
    n, height, width, depth = input.shape
    rows, columns = height // block_size, width // block_size  # pyright: ignore[reportOperatorIssue]
    parts = b.reshape(input, (n, rows, block_size, columns, block_size, depth))
    return b.reshape(b.permute(parts, (0, 1, 3, 2, 4, 5)), (n, rows, columns, depth * block_size**2))  # pyright: ignore[reportOperatorIssue]


@tf_op("SpaceToBatchND")
def tf_space_to_batch(b: TensorflowBuilder, input: Value, block_shape: Value, paddings: Value) -> Value:
    """Every place of a block becomes a sample of its own: how older files write dilation."""
    blocks, pads = b.numbers(block_shape), b.numbers(paddings)
    around = [0, 0] * (input.rank - 1 - len(blocks))
    for begin, end in list(zip(pads[::2], pads[1::2], strict=True))[::-1]:
        around += [begin, end]
    x = b.pad(input, tuple(around)) if any(around) else input
    inner: list[Any] = [part for size, n in zip(x.shape[1:], blocks, strict=False) for part in (size // n, n)]  # pyright: ignore[reportOperatorIssue]
    rest, count = x.shape[1 + len(blocks) :], len(blocks)
    parts = b.reshape(x, (x.shape[0], *inner, *rest))
    order = (*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), *range(2 * count + 1, parts.rank))
    return b.reshape(b.permute(parts, order), (-1, *inner[::2], *rest))


@tf_op("BatchToSpaceND")
def tf_batch_to_space(b: TensorflowBuilder, input: Value, block_shape: Value, crops: Value) -> Value:
    """Samples become the places of a block again."""
    blocks, cuts = b.numbers(block_shape), b.numbers(crops)
    count = len(blocks)
    n: Any = input.shape[0] // numel(blocks)  # pyright: ignore[reportOperatorIssue]
    sizes, rest = input.shape[1 : 1 + count], input.shape[1 + count :]
    parts = b.reshape(input, (*blocks, n, *sizes, *rest))
    pairs = [axis for k in range(count) for axis in (count + 1 + k, k)]
    whole = [size * block for size, block in zip(sizes, blocks, strict=True)]  # pyright: ignore[reportOperatorIssue]
    x = b.reshape(b.permute(parts, (count, *pairs, *range(2 * count + 1, parts.rank))), (n, *whole, *rest))
    slices = [slice(begin, -end if end else None) for begin, end in zip(cuts[::2], cuts[1::2], strict=True)]
    return b.getitem(x, (slice(None), *slices)) if any(cuts) else x
