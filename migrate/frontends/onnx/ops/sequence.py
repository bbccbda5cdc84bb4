"""Sequences and optionals: they are gone once the model is read, since how many items there are is known."""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.frontends.onnx.values import Nothing, Sequence, only_sequence
from migrate.graph import Dim, Value


@onnx_op("SequenceConstruct", since=11)
def onnx_sequence_construct(b: OnnxBuilder, *inputs: Value) -> Sequence:
    """The items."""
    del b
    return Sequence(inputs)


@onnx_op("SequenceEmpty", since=11)
def onnx_sequence_empty(b: OnnxBuilder, *, dtype: Any = 1) -> Sequence:
    """No items."""
    del b, dtype
    return Sequence(())


@onnx_op("SequenceAt", since=11)
def onnx_sequence_at(b: OnnxBuilder, input_sequence: Sequence, position: Value) -> Value:
    """One of them."""
    items = only_sequence(input_sequence).items
    return items[_place(b, position, len(items), len(items) - 1)]


@onnx_op("SequenceLength", since=11)
def onnx_sequence_length(b: OnnxBuilder, input_sequence: Sequence) -> Value:
    """How many there are."""
    return b.static(len(only_sequence(input_sequence).items), "int64")


@onnx_op("SequenceInsert", since=11)
def onnx_sequence_insert(
    b: OnnxBuilder, input_sequence: Sequence, tensor: Value, position: Value | None = None
) -> Sequence:
    """One more, at the end where no place is given."""
    items = only_sequence(input_sequence).items
    place = len(items) if position is None else _place(b, position, len(items), len(items))
    return Sequence((*items[:place], tensor, *items[place:]))


@onnx_op("SequenceErase", since=11)
def onnx_sequence_erase(b: OnnxBuilder, input_sequence: Sequence, position: Value | None = None) -> Sequence:
    """One less, the last where no place is given."""
    items = only_sequence(input_sequence).items
    place = _place(b, position, len(items), len(items) - 1) if position is not None else len(items) - 1
    return Sequence((*items[:place], *items[place + 1 :]))


@onnx_op("SplitToSequence", since=11)
def onnx_split_to_sequence(
    b: OnnxBuilder, input: Value, split: Value | None = None, *, axis: int = 0, keepdims: int = 1
) -> Sequence:
    """Parts of one size, the last may be shorter, or of the given sizes; single rows where nothing is given."""
    dim, length = axis % input.rank, input.shape[axis]
    if split is not None and split.rank:
        return Sequence(b.split(input, tuple(b.numbers(split)), dim))
    if isinstance(length, Dim):
        raise Unsupported("a sequence whose number of items depends on the input's sizes")
    if split is None and not keepdims:
        return Sequence(b.unbind(input, dim))
    size = 1 if split is None else b.number(split)
    sizes = (*[size] * (length // size), *[length % size][: length % size])
    return Sequence(b.split(input, sizes, dim))


@onnx_op("ConcatFromSequence", since=11)
def onnx_concat_from_sequence(b: OnnxBuilder, input_sequence: Sequence, *, axis: int, new_axis: int = 0) -> Value:
    """Joined along an axis, or stacked along a new one."""
    items = only_sequence(input_sequence).items
    return b.stack(items, axis) if new_axis else b.cat(items, axis)


@onnx_op("SequenceMap", since=17)
def onnx_sequence_map(b: OnnxBuilder, input_sequence: Sequence, *additional_inputs: Any, body: Any) -> Any:
    """The body for each item."""
    count = len(only_sequence(input_sequence).items)
    given = (input_sequence, *additional_inputs)
    rows = [b.inline(body, *(v.items[k] if isinstance(v, Sequence) else v for v in given)) for k in range(count)]
    return tuple(Sequence(tuple(row[k] for row in rows)) for k in range(len(body.outputs)))


@onnx_op("Optional", since=15)
def onnx_optional(b: OnnxBuilder, input: Any = None, *, type: Any = None) -> Any:
    """What it holds, or nothing."""
    del b, type
    return Nothing() if input is None else input


@onnx_op("OptionalHasElement", since=15)
def onnx_optional_has_element(b: OnnxBuilder, input: Any = None) -> Value:
    """Whether it holds something: known, as its structure is."""
    return b.static(not (input is None or isinstance(input, Nothing)), "bool")


@onnx_op("OptionalGetElement", since=15)
def onnx_optional_get_element(b: OnnxBuilder, input: Any) -> Any:
    """What it holds."""
    del b
    if isinstance(input, Nothing):
        raise Unsupported("the content of an optional that holds nothing")
    return input


def _place(b: OnnxBuilder, position: Value, count: int, last: int) -> int:
    """A position from the front; a negative one counts from the back of the `count` items that there are."""
    place = b.number(position)
    if not isinstance(place, int) or not -count <= place <= last:
        raise Unsupported(f"position {place} of a sequence of {count}")
    return place + count if place < 0 else place
