"""Shapes: moving, joining and cutting. On known sizes all of it is folded away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.ops.conv import live
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import InferenceError, Value, batch
from migrate.graph.sizes import Dim, equal, numel

END = 2**31 - 1  # exporters write this and more for "to the end"


@onnx_op("Identity")
def onnx_identity(b: OnnxBuilder, input: Value) -> Value:
    """The value itself."""
    del b
    return input


@onnx_op("Shape")
def onnx_shape(b: OnnxBuilder, data: Value, *, start: int = 0, end: int | None = None) -> Value:
    """The sizes themselves, known from here on."""
    return b.static(list(data.shape)[start:end], "int64")


@onnx_op("Size")
def onnx_size(b: OnnxBuilder, data: Value) -> Value:
    """The number of elements."""
    return b.static(numel(data.shape), "int64")


@onnx_op("Reshape", since=5)
def onnx_reshape(b: OnnxBuilder, data: Value, shape: Value, *, allowzero: int = 0) -> Value:
    """0 copies the input's size unless `allowzero`; a batch baked into the target becomes free again."""
    target = [data.shape[i] if size == 0 and not allowzero else size for i, size in enumerate(b.numbers(shape))]
    return b.reshape(data, tuple(target)) if data.static is not None else batch.reshape(b, data, target)


@onnx_op("Reshape", since=1)
def onnx_reshape_1(b: OnnxBuilder, data: Value, *, shape: Any = (), consumed_inputs: Any = None) -> Value:
    """The target was an attribute."""
    del consumed_inputs
    target = [data.shape[i] if size == 0 else size for i, size in enumerate(shape)]
    return batch.reshape(b, data, target)


@onnx_op("Flatten")
def onnx_flatten(b: OnnxBuilder, input: Value, *, axis: int = 1) -> Value:
    """To a matrix: the axes before `axis`, and the rest."""
    start = axis if axis >= 0 else axis + input.rank
    if start == 0:
        return b.reshape(input, (1, -1))  # this 1 is no batch
    left = numel(input.shape[:start])
    return batch.reshape(b, input, (left, -1) if start < input.rank else (left, 1))


@onnx_op("Transpose")
def onnx_transpose(b: OnnxBuilder, data: Value, *, perm: Any = None) -> Value:
    """Without `perm` the axes are reversed."""
    order = tuple(perm) if perm is not None else tuple(reversed(range(data.rank)))
    return data if order == tuple(range(data.rank)) else b.permute(data, order)


def squeeze(b: OnnxBuilder, data: Value, axes: Sequence[int]) -> Value:
    """Only axes of size 1 may go; torch would leave the others silently."""
    chosen = axes or [i for i, size in enumerate(data.shape) if size == 1]
    dims = tuple(sorted(int(axis) % data.rank for axis in chosen))
    for axis in dims:
        if data.shape[axis] != 1:
            raise InferenceError(f"axis {axis} of size {data.shape[axis]} cannot be squeezed")
    return b.squeeze(data, dims[0] if len(dims) == 1 else dims) if dims else data


@onnx_op("Squeeze", since=13)
def onnx_squeeze(b: OnnxBuilder, data: Value, axes: Value | None = None) -> Value:
    """Axes are an input."""
    return squeeze(b, data, b.numbers(axes) if axes is not None else ())


@onnx_op("Squeeze", since=1)
def onnx_squeeze_1(b: OnnxBuilder, data: Value, *, axes: Any = ()) -> Value:
    """Axes are an attribute."""
    return squeeze(b, data, axes)


def unsqueeze(b: OnnxBuilder, data: Value, axes: Sequence[int]) -> Value:
    """One axis at a time, in the order of the result's axes."""
    rank = data.rank + len(axes)
    for axis in sorted(int(a) % rank for a in axes):
        data = b.unsqueeze(data, axis)
    return data


@onnx_op("Unsqueeze", since=13)
def onnx_unsqueeze(b: OnnxBuilder, data: Value, axes: Value) -> Value:
    """Axes are an input."""
    return unsqueeze(b, data, b.numbers(axes))


@onnx_op("Unsqueeze", since=1)
def onnx_unsqueeze_1(b: OnnxBuilder, data: Value, *, axes: Any) -> Value:
    """Axes are an attribute."""
    return unsqueeze(b, data, axes)


@onnx_op("Concat")
def onnx_concat(b: OnnxBuilder, *inputs: Value, axis: int = 1) -> Value:
    """An operand of one row beside others with the batch, such as a class token, is repeated for the batch."""
    if len(inputs) == 1:
        return inputs[0]
    if any(value.static is None for value in inputs):
        inputs = tuple(_rows_for_batch(b, inputs, value, axis) for value in inputs)
    return b.cat(inputs, dim=axis)


def _rows_for_batch(b: OnnxBuilder, inputs: tuple[Value, ...], value: Value, axis: int) -> Value:
    if not value.rank or axis % value.rank == 0 or value.shape[0] != 1:
        return value
    rows = [v.shape[0] for v in inputs if v.shape[0] == b.graph.batch]
    return batch.expand_to_batch(b, value, 0, rows[0]) if rows else value


def cut(b: OnnxBuilder, data: Value, axes: Sequence[int], ranges: Sequence[tuple[Any, Any, Any]]) -> Value:
    """Slice as Python does; a negative step, which torch has not, is a slice and a flip."""
    index: list[slice] = [slice(None)] * data.rank
    flips: list[int] = []
    for axis, (start, stop, step) in zip(axes, ranges, strict=True):
        dim = int(axis) % data.rank
        if step < 0:
            index[dim] = _reversed(data.shape[dim], start, stop, step)
            flips.append(dim)
        else:
            index[dim] = _forward(data.shape[dim], start, stop, step)
    while index and index[-1] == slice(None):
        index.pop()
    data = b.getitem(data, tuple(index)) if index else data
    return b.flip(data, tuple(flips)) if flips else data


def _forward(size: Any, start: Any, stop: Any, step: int) -> slice:
    to_end = equal(stop, size) or (isinstance(stop, int) and stop >= END)
    return slice(None if equal(start, 0) else start, None if to_end else stop, None if step == 1 else step)


def _reversed(size: Any, start: Any, stop: Any, step: int) -> slice:
    if isinstance(start, Dim) or isinstance(stop, Dim):
        raise Unsupported("a slice with a negative step between sizes that are not known")
    if isinstance(size, Dim):
        if (start != -1 and start < END) or stop > -END:
            raise Unsupported("a slice with a negative step over part of an axis of free size")
        return slice(None if step == -1 else live("%", size - 1, -step), None, -step if step != -1 else None)
    places = range(*slice(start, stop, step).indices(size))
    return slice(places[-1], places[0] + 1, -step if step != -1 else None) if places else slice(0, 0)


def matched(begins: Sequence[Any], ends: Sequence[Any], steps: Sequence[Any]) -> list[tuple[Any, Any, Any]]:
    """A begin, an end and a step for each axis."""
    if not len(begins) == len(ends) == len(steps):
        raise InferenceError(f"{len(begins)} begins, {len(ends)} ends and {len(steps)} steps of a slice")
    return list(zip(begins, ends, steps, strict=True))


@onnx_op("Slice", since=10)
def onnx_slice(
    b: OnnxBuilder, data: Value, starts: Value, ends: Value, axes: Value | None = None, steps: Value | None = None
) -> Value:
    """Bounds are inputs; sizes among them stay sizes."""
    begin, end = b.numbers(starts), b.numbers(ends)
    step = b.numbers(steps) if steps is not None else [1] * len(begin)
    dims = b.numbers(axes) if axes is not None else range(len(begin))
    return cut(b, data, list(dims), matched(begin, end, step))


@onnx_op("Slice", since=1)
def onnx_slice_1(b: OnnxBuilder, data: Value, *, starts: Any, ends: Any, axes: Any = None) -> Value:
    """Bounds are attributes."""
    dims = axes if axes is not None else range(len(starts))
    return cut(b, data, list(dims), matched(starts, ends, [1] * len(starts)))


def into_parts(b: OnnxBuilder, x: Value, sizes: Sequence[Any] | None, axis: int, parts: int) -> Any:
    """Into the given sizes, or into equal ones of which the last may be smaller."""
    whole: Any = x.shape[axis]
    if not sizes:
        each = (whole + parts - 1) // parts
        sizes = [each] * (parts - 1) + [whole - each * (parts - 1)]
    return b.split(x, tuple(sizes), dim=axis)


@onnx_op("Split", since=13)
def onnx_split(
    b: OnnxBuilder, input: Value, split: Value | None = None, *, axis: int = 0, num_outputs: int | None = None
) -> Any:
    """Sizes are an input; `num_outputs` came with opset 18."""
    sizes = b.numbers(split) if split is not None else None
    return into_parts(b, input, sizes, axis, num_outputs or len(b.output_names))


@onnx_op("Split", since=1)
def onnx_split_1(b: OnnxBuilder, input: Value, sizes: Value | None = None, *, axis: int = 0, split: Any = None) -> Any:
    """Sizes are an attribute; the first opset took them as an input as well."""
    return into_parts(b, input, split if sizes is None else b.numbers(sizes), axis, len(b.output_names))


def broadcast(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """The shape of both together; a size of 1 gives way, at every assignment of the free sizes."""
    rank = max(len(left), len(right))
    pairs = zip([1] * (rank - len(left)) + [*left], [1] * (rank - len(right)) + [*right], strict=True)
    return [b if equal(a, 1) else a for a, b in pairs]


@onnx_op("Expand", since=8)
def onnx_expand(b: OnnxBuilder, input: Value, shape: Value) -> Value:
    """Broadcasting in both directions: a 1 in `shape` leaves the input's size."""
    target = batch.repeated(b, input, broadcast(input.shape, b.numbers(shape)))
    offset = len(target) - input.rank
    if offset == 0 and all(equal(s, t) for s, t in zip(input.shape, target, strict=True)):
        return input
    kept = [i >= offset and equal(input.shape[i - offset], size) for i, size in enumerate(target)]
    return b.expand(input, tuple(-1 if keep else size for keep, size in zip(kept, target, strict=True)))


@onnx_op("Tile", since=6)
def onnx_tile(b: OnnxBuilder, input: Value, repeats: Value) -> Value:
    """Repeats each axis."""
    times = b.numbers(repeats)
    if b.frees_repeats and len(times) == input.rank:
        sizes = batch.repeated(b, input, [s * n for s, n in zip(input.shape, times, strict=True)])
        times = [s if size == 1 else n for s, n, size in zip(sizes, times, input.shape, strict=True)]
    return input if all(equal(t, 1) for t in times) else b.repeat(input, tuple(times))


@onnx_op("Tile", since=1)
def onnx_tile_1(b: OnnxBuilder, input: Value, tiles: Value, axis: Value) -> Value:
    """Repeats one axis."""
    times = [1] * input.rank
    times[int(b.number(axis))] = int(b.number(tiles))
    return onnx_tile(b, input, b.static(times, "int64"))


@onnx_op("Col2Im", since=18)
def onnx_col2im(
    b: OnnxBuilder,
    input: Value,
    image_shape: Value,
    block_shape: Value,
    *,
    dilations: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    """Blocks are added up where they overlap: torch's `fold` for images, padding cut off after it."""
    sizes, block = b.numbers(image_shape), tuple(b.numbers(block_shape))
    rank = len(block)
    strides, dilations, pads = strides or (1,) * rank, dilations or (1,) * rank, pads or (0,) * 2 * rank
    whole = tuple(s + p + q for s, p, q in zip(sizes, pads[:rank], pads[rank:], strict=True))
    image = (b.fold if rank == 2 else b.add_blocks)(input, whole, block, dilation=dilations, stride=strides)
    index = [
        slice(p, p + s) if whole[i] != s else slice(None) for i, (p, s) in enumerate(zip(pads, sizes, strict=False))
    ]
    return b.getitem(image, (slice(None), slice(None), *index)) if any(pads) else image
