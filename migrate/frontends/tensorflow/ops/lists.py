"""Lists of tensors: as many parts as the import can count, or a series along an axis of free size, see `series`."""

from __future__ import annotations

from typing import Any

from migrate.frontends.tensorflow.builder import AtStep, Laid, Parts, Series, TensorflowBuilder, needs
from migrate.frontends.tensorflow.registry import Unsupported, tf_op

_PLACE = "a list of free length, used elsewhere than at the place that the loop counts"


@tf_op("TensorListReserve", layout="laid")
def tf_tensor_list_reserve(b: TensorflowBuilder, element_shape: Laid, num_elements: Laid, *, element_dtype: str) -> Any:
    """A list of so many parts, none of which is there yet."""
    del element_shape
    count = b.number(num_elements)
    return Parts((None,) * count, element_dtype) if isinstance(count, int) else Series(None, count, element_dtype)


@tf_op("EmptyTensorList", layout="laid")
def tf_empty_tensor_list(
    b: TensorflowBuilder, element_shape: Laid, max_num_elements: Laid, *, element_dtype: str
) -> Parts:
    """A list of no parts."""
    del b, element_shape, max_num_elements
    return Parts((), element_dtype)


@tf_op("TensorListFromTensor", layout="laid")
def tf_tensor_list_from_tensor(b: TensorflowBuilder, tensor: Laid, element_shape: Laid, *, element_dtype: str) -> Any:
    """The parts along the first axis."""
    del element_shape
    value = b.tensor(b.to_source(tensor).value)
    if not isinstance(value.shape[0], int):
        return Series(value, value.shape[0], element_dtype)
    return Parts(tuple(Laid(part) for part in b.unbind(value, 0)), element_dtype)


@tf_op("TensorListSetItem", layout="laid")
def tf_tensor_list_set_item(
    b: TensorflowBuilder, input_handle: Any, index: Laid, item: Laid, *, resize_if_index_out_of_bounds: bool = False
) -> Any:
    """A list with another part at a place."""
    if isinstance(input_handle, AtStep | Series):
        needs(
            isinstance(input_handle, AtStep) and index.value is input_handle.index and input_handle.part is None, _PLACE
        )
        return AtStep(index.value, item)
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
    b: TensorflowBuilder, input_handle: Any, index: Laid, element_shape: Laid, *, element_dtype: str
) -> Laid:
    """A part; zeros where none has been put there."""
    if isinstance(input_handle, AtStep):
        needs(index.value is input_handle.index, _PLACE)
        return input_handle.part or Laid(b.full(tuple(b.numbers(element_shape)), 0, dtype=f"torch.{element_dtype}"))
    if isinstance(input_handle, Series):
        needs(input_handle.value is not None, _PLACE)
        return Laid(b.select(input_handle.value, 0, b.number(index)))
    item = input_handle.items[b.number(index)]
    return item or Laid(b.full(tuple(b.numbers(element_shape)), 0, dtype=f"torch.{element_dtype}"))


@tf_op("TensorListStack", layout="laid")
def tf_tensor_list_stack(
    b: TensorflowBuilder, input_handle: Any, element_shape: Laid, *, element_dtype: str, num_elements: int = -1
) -> Laid:
    """The parts along a new first axis."""
    del element_shape, element_dtype, num_elements
    if isinstance(input_handle, Series) and input_handle.value is not None:
        return Laid(input_handle.value)
    if not isinstance(input_handle, Parts):
        raise Unsupported(_PLACE)
    made = [item for item in input_handle.items if item is not None]
    needs(made and len(made) == len(input_handle.items), "a list with parts that nothing has made")
    return Laid(b.stack(tuple(b.to_source(item).value for item in made), 0))


@tf_op("TensorListLength", layout="laid")
def tf_tensor_list_length(b: TensorflowBuilder, input_handle: Any) -> Laid:
    """The number of parts."""
    length = input_handle.length if isinstance(input_handle, Series) else len(input_handle.items)
    return Laid(b.static(length, "int32"))
