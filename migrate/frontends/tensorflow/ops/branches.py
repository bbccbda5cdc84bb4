"""Branches and loops: what is known while the model is read is decided, the rest becomes Python's `if` and `while`.

A function is named, and adds its nodes where it is called. Variables go into it as they are; a list of tensors, which
TensorFlow makes where a loop gives one part in each iteration, has as many parts as the import can count, so such a loop is
unrolled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from migrate.frontends.tensorflow.builder import Laid, Parts, TensorflowBuilder, needs
from migrate.frontends.tensorflow.registry import Unsupported, tf_op
from migrate.graph import Value, control

MAX_UNROLLED = 256
MAX_REPEATED = 8  # of a loop that needs no list: as many copies of its body are easier to read than a loop
_NO_COUNT = "a loop whose number of iterations depends on the data, with a list of tensors in it"


def _known(b: TensorflowBuilder, condition: Laid) -> bool | None:
    try:
        return bool(b.number(condition))
    except Unsupported:
        return None


def _tensors(b: TensorflowBuilder, items: Sequence[Any]) -> list[Value]:
    if not all(isinstance(item, Laid) for item in items):
        raise Unsupported("a branch or a loop that gives a list or a resource")
    return [b.tensor(b.to_source(item).value) for item in items]


@tf_op("If", "StatelessIf", layout="laid")
def tf_if(b: TensorflowBuilder, cond: Laid, *input: Any, then_branch: str, else_branch: str) -> Any:
    """The branch itself where the condition is known."""
    known = _known(b, cond)
    if known is not None:
        return b.inline(then_branch if known else else_branch, input)
    given = [b.to_source(item) if isinstance(item, Laid) else item for item in input]
    with b.block() as on_true:
        on_true.outputs = _tensors(b, b.inline(then_branch, given))
    with b.block() as on_false:
        on_false.outputs = _tensors(b, b.inline(else_branch, given))
    return [Laid(value) for value in control.if_(b, cond.value, on_true, on_false)]


@tf_op("While", "StatelessWhile", layout="laid")
def tf_while(b: TensorflowBuilder, *input: Any, cond: str, body: str) -> Any:
    """Unrolled where that is known to be short, or where it carries a list; else a loop that a condition ends."""
    unrolled = _unrolled(b, list(input), cond, body)
    if unrolled is not None:
        return unrolled
    needs(not any(isinstance(item, Parts) for item in input), _NO_COUNT)
    places = [k for k, item in enumerate(input) if isinstance(item, Laid)]
    carried = [b.tensor(b.to_source(input[k]).value) for k in places]
    going = b.inline(cond, [Laid(carried[places.index(k)]) if k in places else item for k, item in enumerate(input)])[0]
    if _known(b, going) is False:
        return list(input)
    with control.loop_body(b, carried) as block:
        state = dict(zip(places, block.inputs[1:], strict=True))
        given = [Laid(state[k]) if k in state else item for k, item in enumerate(input)]
        made = [b.to_source(item) if isinstance(item, Laid) else item for item in b.inline(body, given)]
        again = b.inline(cond, made)[0]
        block.outputs = [b.tensor(again.value), *_tensors(b, [made[k] for k in places])]
    start = True if _known(b, going) else going.value
    results = control.loop(b, block, trip_count=None, condition=start, carried=carried)
    found = dict(zip(places, results, strict=True))
    return [Laid(found[k]) if k in found else item for k, item in enumerate(input)]


def _unrolled(b: TensorflowBuilder, values: list[Any], cond: str, body: str) -> list[Any] | None:
    """The values after the last iteration; None where the condition depends on the data, or comes true too often."""
    has_parts = any(isinstance(item, Parts) for item in values)
    limit = MAX_UNROLLED if has_parts else MAX_REPEATED
    count = _length(b, values, cond, body, limit)
    if count is None:
        return None
    for _ in range(count):
        values = b.inline(body, values)
    return values


def _length(b: TensorflowBuilder, values: list[Any], cond: str, body: str, limit: int) -> int | None:
    """How often the loop runs, where its counters tell and that is not too often; the trial leaves no node."""
    with b.block():
        for count in range(limit + 1):
            known = _known(b, b.inline(cond, values)[0])
            if known is not True:
                return count if known is False else None
            values = b.inline(body, values)
    return None


@tf_op("TensorListReserve", layout="laid")
def tf_tensor_list_reserve(
    b: TensorflowBuilder, element_shape: Laid, num_elements: Laid, *, element_dtype: str
) -> Parts:
    """A list of so many parts, none of which is there yet."""
    del element_shape
    count = b.number(num_elements)
    needs(isinstance(count, int), "a list of tensors whose length is a size of the input")
    return Parts((None,) * count, element_dtype)


@tf_op("EmptyTensorList", layout="laid")
def tf_empty_tensor_list(
    b: TensorflowBuilder, element_shape: Laid, max_num_elements: Laid, *, element_dtype: str
) -> Parts:
    """A list of no parts."""
    del b, element_shape, max_num_elements
    return Parts((), element_dtype)


@tf_op("TensorListFromTensor", layout="laid")
def tf_tensor_list_from_tensor(b: TensorflowBuilder, tensor: Laid, element_shape: Laid, *, element_dtype: str) -> Parts:
    """The parts along the first axis."""
    del element_shape
    value = b.to_source(tensor).value
    needs(isinstance(value.shape[0], int), "a list with a part for each place of a free size")
    return Parts(tuple(Laid(part) for part in b.unbind(value, 0)), element_dtype)


@tf_op("TensorListSetItem", layout="laid")
def tf_tensor_list_set_item(
    b: TensorflowBuilder, input_handle: Parts, index: Laid, item: Laid, *, resize_if_index_out_of_bounds: bool = False
) -> Parts:
    """A list with another part at a place."""
    place = b.number(index)
    needs(0 <= place < len(input_handle.items) and not resize_if_index_out_of_bounds, "a place outside of a list")
    return Parts((*input_handle.items[:place], item, *input_handle.items[place + 1 :]), input_handle.dtype)


@tf_op("TensorListPushBack", layout="laid")
def tf_tensor_list_push_back(b: TensorflowBuilder, input_handle: Parts, tensor: Laid, *, element_dtype: str) -> Parts:
    """A list with one part more."""
    del b
    return Parts((*input_handle.items, tensor), element_dtype)


@tf_op("TensorListGetItem", layout="laid")
def tf_tensor_list_get_item(
    b: TensorflowBuilder, input_handle: Parts, index: Laid, element_shape: Laid, *, element_dtype: str
) -> Laid:
    """A part; zeros where none has been put there."""
    item = input_handle.items[b.number(index)]
    return item or Laid(b.full(tuple(b.numbers(element_shape)), 0, dtype=f"torch.{element_dtype}"))


@tf_op("TensorListStack", layout="laid")
def tf_tensor_list_stack(
    b: TensorflowBuilder, input_handle: Parts, element_shape: Laid, *, element_dtype: str, num_elements: int = -1
) -> Laid:
    """The parts along a new first axis."""
    del element_shape, element_dtype, num_elements
    made = [item for item in input_handle.items if item is not None]
    needs(made and len(made) == len(input_handle.items), "a list with parts that nothing has made")
    return Laid(b.stack(tuple(b.to_source(item).value for item in made), 0))


@tf_op("TensorListLength", layout="laid")
def tf_tensor_list_length(b: TensorflowBuilder, input_handle: Parts) -> Laid:
    """The number of parts."""
    return Laid(b.static(len(input_handle.items), "int32"))
