"""What passes a value on, constants and variables."""

from __future__ import annotations

from typing import Any

from migrate.frontends.tensorflow.builder import DEAD, Handle, Laid, TensorflowBuilder, needs
from migrate.frontends.tensorflow.registry import Unsupported, tf_op
from migrate.frontends.tensorflow.tensors import array_of, is_numeric, type_name
from migrate.graph import Value


@tf_op("Const")
def tf_const(b: TensorflowBuilder, *, value: Any, dtype: str) -> Value:
    """A constant."""
    del dtype
    needs(is_numeric(type_name(value.dtype)), f"a constant of {type_name(value.dtype)}")
    return b.constant(b.name, array_of(value, b.name))


@tf_op("ReadVariableOp", layout="laid")
def tf_read_variable_op(b: TensorflowBuilder, resource: Any) -> Value:
    """The content of a variable."""
    if not isinstance(resource, Handle):
        raise Unsupported("a resource that is no variable of the model")
    return b.variable(resource.variable)


@tf_op("Identity", "Snapshot", "CheckNumerics", "EnsureShape", "PlaceholderWithDefault", layout="laid")
def tf_identity(b: TensorflowBuilder, input: Any) -> Any:
    """The value itself; in a layer of Keras 2 that drops elements in training, that layer."""
    parts = b.name.split("/")
    rate = b.rates.get(parts[-2]) if len(parts) > 1 and parts[-1].startswith("Identity") else None
    if rate is None or not isinstance(input, Laid) or not input.value.is_float or input.value.weight is not None:
        return input
    return Laid(b.dropout(input.value, p=rate, training=False), input.first, input.flat)


@tf_op("IdentityN", layout="laid")
def tf_identity_n(b: TensorflowBuilder, *input: Any) -> Any:
    """The values themselves."""
    del b
    return list(input)


@tf_op("NoOp", layout="laid")
def tf_no_op(b: TensorflowBuilder) -> list[Any]:
    """Nothing."""
    del b
    return []


@tf_op("Placeholder", "PlaceholderV2", layout="laid")
def tf_placeholder(b: TensorflowBuilder, *, dtype: str) -> Value:
    """One that is no input of the model: whether it learns, which it does not."""
    needs(dtype == "bool", "an input that the signature does not name")
    return b.static(False, "bool")


@tf_op("Switch", "RefSwitch", layout="laid")
def tf_switch(b: TensorflowBuilder, data: Any, pred: Laid) -> list[Any]:
    """A branch of TensorFlow 1: the value where the condition is false, and where it is true."""
    return [DEAD, data] if b.number(pred) else [data, DEAD]


@tf_op("Merge", "RefMerge", layout="laid")
def tf_merge(b: TensorflowBuilder, *inputs: Any) -> list[Any]:
    """The value of the branch that is taken, and which it is."""
    live = [k for k, item in enumerate(inputs) if item is not DEAD]
    needs(len(live) == 1, "branches that meet though both are taken")
    return [inputs[live[0]], b.static(live[0], "int32")]
