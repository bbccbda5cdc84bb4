"""TensorFlow's element types and the arrays of its constants. Knows numpy and no operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from migrate.frontends.tensorflow.messages import damaged

Array = np.ndarray[Any, np.dtype[Any]]
# The numbers of `types.proto`; a reference to a type (of TensorFlow 1) is 100 more.
TYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string", 8: "complex64", 9: "int64",
    10: "bool", 11: "qint8", 12: "quint8", 13: "qint32", 14: "bfloat16", 15: "qint16", 16: "quint16", 17: "uint16",
    18: "complex128", 19: "float16", 20: "resource", 21: "variant", 22: "uint32", 23: "uint64",
}  # fmt: skip
HALF = {"float16": "float32", "bfloat16": "float32"}
"""In what the package trains: the step's own precision is chosen with --precision."""
_FIELDS = {
    "float32": "float_val", "float64": "double_val", "int32": "int_val", "uint8": "int_val", "int16": "int_val",
    "int8": "int_val", "int64": "int64_val", "bool": "bool_val", "bfloat16": "half_val", "uint16": "int_val",
    "float16": "half_val", "uint32": "uint32_val", "uint64": "uint64_val",
}  # fmt: skip
MAX_ELEMENTS = 1 << 31
MAX_REPEATED = 1 << 26  # elements that one stored number may stand for: 256 MiB of floats


def type_name(number: int) -> str:
    """The element type of that number."""
    return TYPES.get(number % 100, f"type {number}")


def dims_of(shape: Any) -> tuple[int, ...] | None:
    """The sizes of a shape, -1 where they are free; None where not even the rank is known."""
    return None if shape.unknown_rank else tuple(int(dim.size) for dim in shape.dim)


def raw_array(data: Any, dtype: str, shape: tuple[int, ...]) -> Array:
    """The elements as they are stored, 16-bit floats widened."""
    if dtype == "bfloat16":
        bits = np.frombuffer(data, "<u2").astype("<u4") << 16
        return bits.view("<f4").reshape(shape)
    array = np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).reshape(shape)
    return array.astype(HALF.get(dtype, dtype), copy=False)


def is_numeric(dtype: str) -> bool:
    """Whether arrays of the type are read."""
    return dtype in _FIELDS


def array_of(tensor: Any, where: str) -> Array:
    """The content of a constant of numbers; the last one that is written stands for all that follow.

    Raises:
        MigrateError: exit status 3, MIG151: it does not fit its shape.
    """
    dtype, shape = type_name(tensor.dtype), dims_of(tensor.tensor_shape) or ()
    count = int(np.prod(shape, dtype=object))
    if min(shape, default=0) < 0 or count > MAX_ELEMENTS:
        raise damaged(where, f"a constant of the shape {shape}")
    try:
        if tensor.tensor_content:
            return raw_array(tensor.tensor_content, dtype, shape)
        if count > MAX_REPEATED:
            raise ValueError(f"{count} elements, which it does not hold one by one")
        stored = np.array(getattr(tensor, _FIELDS[dtype])[:count] or [0])
        if dtype in HALF:
            stored = raw_array(stored.astype("<u2").tobytes(), dtype, stored.shape)
        last = np.broadcast_to(stored[-1:], (max(count - stored.size, 0),))
        return np.concatenate([stored, last])[:count].astype(HALF.get(dtype, dtype)).reshape(shape)
    except (ValueError, KeyError) as fault:
        raise damaged(where, f"a constant of {dtype}: {fault}") from fault
