"""Cutting and padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from migrate.frontends.tensorflow.builder import Laid, TensorflowBuilder
from migrate.frontends.tensorflow.registry import Unsupported, tf_op
from migrate.graph import Dim, Value
from migrate.graph.sizes import equal


def _bounds(size: Any, begin: Any, end: Any, step: int) -> slice:
    start = None if begin is None or equal(begin, 0) else begin
    stop = None if end is None or equal(end, size) else end
    if isinstance(stop, int) and isinstance(size, int) and stop >= size:
        stop = None
    return slice(start, stop, None if step == 1 else step)


def cut(b: TensorflowBuilder, x: Laid, index: list[Any]) -> Any:
    """One slice or number for each axis of TensorFlow's; a negative step is a slice and a flip."""
    x = b.unflattened(x)
    flips: list[int] = []
    for axis, item in enumerate(index):
        if isinstance(item, slice) and isinstance(item.step, int) and item.step < 0:
            index[axis] = _reversed(x.shape[axis], item)
            flips.append(axis)
    numbers = [axis for axis, item in enumerate(index) if not isinstance(item, slice)]
    if x.first and (0 in numbers or x.rank - 1 in numbers):
        x = b.to_source(x)
    placed: list[Any] = [slice(None)] * x.rank
    for axis, item in enumerate(index):
        placed[x.axis(axis)] = item
    while placed and placed[-1] == slice(None):
        placed.pop()
    made = b.flip(x.value, tuple(x.axis(axis) for axis in flips)) if flips and not numbers else x.value
    made = b.getitem(made, tuple(placed)) if placed else made
    return Laid(made, x.first and made.rank > 2)


def _reversed(size: Any, item: slice) -> slice:
    """The slice of the flipped axis that means the same."""
    if item.start is not None or item.stop is not None or item.step != -1:
        raise Unsupported("a slice with a negative step over part of an axis")
    del size
    return slice(None)


def _index(b: TensorflowBuilder, x: Laid, spec: Sequence[Any], masks: dict[str, int]) -> tuple[list[Any], list[int]]:
    """A slice or number for each axis, and where new axes come in the result."""
    begins, ends, steps = spec
    count = len(begins)
    real = sum(1 for k in range(count) if not (masks["ellipsis"] | masks["new"]) >> k & 1)
    index: list[Any] = []
    new: list[int] = []
    place = 0
    for k in range(count):
        if masks["ellipsis"] >> k & 1:
            wide = x.rank - real
            index += [slice(None)] * wide
            place += wide
        elif masks["new"] >> k & 1:
            new.append(place)
            place += 1
        elif masks["shrink"] >> k & 1:
            index.append(begins[k])
        else:
            start = None if masks["begin"] >> k & 1 else begins[k]
            stop = None if masks["end"] >> k & 1 else ends[k]
            index.append(_bounds(x.shape[len(index)], start, stop, steps[k]))
            place += 1
    return index, new


@tf_op("StridedSlice", layout="laid")
def tf_strided_slice(
    b: TensorflowBuilder, input: Laid, begin: Laid, end: Laid, strides: Laid, *, begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0,
) -> Any:  # fmt: skip
    """As Python slices."""
    masks = {
        "begin": begin_mask,
        "end": end_mask,
        "ellipsis": ellipsis_mask,
        "new": new_axis_mask,
        "shrink": shrink_axis_mask,
    }
    x = b.to_source(input) if new_axis_mask else b.unflattened(input)
    index, new = _index(b, x, [b.numbers(item) for item in (begin, end, strides)], masks)
    made = cut(b, x, index)
    for axis in new:
        made = Laid(b.unsqueeze(made.value, axis))
    return made


@tf_op("Slice", layout="laid")
def tf_slice(b: TensorflowBuilder, input: Laid, begin: Laid, size: Laid) -> Any:
    """A begin and a size for each axis; -1 is what is left."""
    x = b.unflattened(input)
    bounds = zip(x.shape, b.numbers(begin), b.numbers(size), strict=True)
    return cut(b, x, [_bounds(whole, first, None if n == -1 else first + n, 1) for whole, first, n in bounds])


def _around(b: TensorflowBuilder, x: Laid, paddings: Laid) -> tuple[Any, ...]:
    """Padding in the order of `F.pad`: the last axis first, up to the first one that is padded."""
    numbers = b.numbers(paddings)
    pairs = {x.axis(axis): (numbers[2 * axis], numbers[2 * axis + 1]) for axis in range(x.rank)}
    used = [axis for axis, pair in pairs.items() if not (equal(pair[0], 0) and equal(pair[1], 0))]
    return tuple(size for axis in reversed(range(min(used, default=x.rank), x.rank)) for size in pairs[axis])


@tf_op("Pad", "PadV2", layout="laid")
def tf_pad(b: TensorflowBuilder, input: Laid, paddings: Laid, constant_values: Laid | None = None) -> Any:
    """With one number around."""
    x = b.unflattened(input)
    around = _around(b, x, paddings)
    value = b.number(constant_values) if constant_values is not None else 0
    if not around:
        return x
    return Laid(b.pad(x.value, around, value=value) if value else b.pad(x.value, around), x.first)


@tf_op("MirrorPad", layout="laid")
def tf_mirror_pad(b: TensorflowBuilder, input: Laid, paddings: Laid, *, mode: str) -> Any:
    """With the image in a mirror; the edge itself is repeated with SYMMETRIC."""
    x = b.unflattened(input)
    around = _around(b, x, paddings)
    if not around:
        return x
    if mode == "SYMMETRIC":
        return Laid(_symmetric(b, x.value, around), x.first)
    inner = len(around) // 2
    native = inner in (x.rank - 2, x.rank - 1) and inner <= 3 and not any(isinstance(n, Dim) for n in around)
    return Laid(b.pad(x.value, around, mode="reflect") if native else b.pad_axes(x.value, around, "reflect"), x.first)


def _symmetric(b: TensorflowBuilder, x: Value, around: tuple[Any, ...]) -> Value:
    """Axis by axis, the ends turned round beside it."""
    for k in range(len(around) // 2):
        dim = x.rank - 1 - k
        begin, end = around[2 * k], around[2 * k + 1]
        before = (slice(None),) * dim
        parts = [b.flip(b.getitem(x, (*before, slice(None, begin))), (dim,))] if begin else []
        parts += [x, *([b.flip(b.getitem(x, (*before, slice(-end, None))), (dim,))] if end else [])]
        x = b.cat(tuple(parts), dim=dim) if len(parts) > 1 else x
    return x
