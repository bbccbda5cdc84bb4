"""Element types by torch's names, and those in which torch does not compute.

Of the latter, which type carries their values, and which values are of such a type. A carrier holds every value. What leaves
the type's range is brought back where an operator can leave it: whole numbers wrap as their bits do. Knows the schemas of
operators, not their handlers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import onnx_ir as ir

from migrate.frontends.onnx.registry import Unsupported
from migrate.graph import Builder, Value

CARRIERS = {
    "uint16": "int32", "uint32": "int64", "uint64": "int64",
    "int4": "int8", "uint4": "uint8", "int2": "int8", "uint2": "uint8",
    "float8e4m3fn": "float32", "float8e4m3fnuz": "float32", "float8e5m2": "float32", "float8e5m2fnuz": "float32",
    "float8e8m0": "float32", "float4e2m1": "float32",
}  # fmt: skip
HALF = {"float16": "float32", "bfloat16": "float32"}
_NAMES = {"float": "float32", "double": "float64"}
_TORCH = {
    "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64", "complex128",
}  # fmt: skip
RANGES = {
    "uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767), "int32": (-(2**31), 2**31 - 1),
    "uint4": (0, 15), "int4": (-8, 7), "uint2": (0, 3), "int2": (-2, 1),
}  # fmt: skip
MOVES = {
    "Identity", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Concat", "Split", "Slice", "Gather", "GatherND",
    "GatherElements", "Expand", "Tile", "Pad", "DepthToSpace", "SpaceToDepth", "MaxPool", "Max", "Min", "Clip", "Relu",
}  # fmt: skip
_UNSIGNED = {"uint16": 16, "uint32": 32}
_GROWS = {
    "Add", "Sub", "Mul", "Pow", "Neg", "Sum", "BitwiseNot", "BitShift", "MatMul", "Gemm", "Einsum", "CumSum", "CumProd",
    "ReduceSum", "ReduceProd", "ReduceSumSquare", "ReduceL1",
}  # fmt: skip


def dtype_name(dtype: ir.DataType | None) -> str:
    """An ONNX element type by torch's name.

    Raises:
        Unsupported: torch has no such type.
    """
    name = (dtype or ir.DataType.FLOAT).name.lower()
    name = _NAMES.get(name, name)
    if name not in _TORCH and name not in CARRIERS:
        raise Unsupported(f"element type {name}")
    return name


@cache
def kept_by(op_type: str, domain: str, opset: int) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """The type variables of an operator's inputs and outputs, and whether the last input may be repeated."""
    import onnx.defs

    try:
        schema = onnx.defs.get_schema(op_type, opset, domain)
    except onnx.defs.SchemaError:
        return (), (), False
    many = bool(schema.inputs) and schema.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    return tuple(i.type_str for i in schema.inputs), tuple(o.type_str for o in schema.outputs), many


def follow(
    b: Builder,
    narrow: dict[Value, str],
    node: tuple[str, str, int],
    inputs: Sequence[Value | None],
    outputs: Sequence[Any],
) -> list[Any]:
    """What a node makes of a narrow type, marked as that and within its range.

    Args:
        b: where an operation that brings back into the range is added.
        narrow: the values of a narrow type so far; those of the outputs are added.
        node: the operator, its domain, and the opset.
        inputs: what the node takes.
        outputs: what its handler made.
    """
    takes, gives, many = kept_by(*node)
    kinds: dict[str, str] = {}
    for i, value in enumerate(inputs):
        variable = takes[i] if i < len(takes) else takes[-1] if many else ""
        if value is not None and value in narrow and variable:
            kinds[variable] = narrow[value]
    made = list(outputs)
    for i, variable in enumerate(gives[: len(made)]):
        kind = kinds.get(variable, "")
        if kind and made[i] is not None and made[i] not in narrow:
            made[i] = wrapped(b, made[i], kind) if node[0] in _GROWS else made[i]
            narrow[made[i]] = kind
    return made


def wrapped(b: Builder, x: Value, kind: str) -> Value:
    """The lowest bits of whole numbers, as a type of fewer bits keeps them."""
    if kind in _UNSIGNED:
        return b.bitwise_and(x, 2 ** _UNSIGNED[kind] - 1)
    if kind in RANGES:
        low, high = RANGES[kind]
        return b.wrap(x, low, high)
    return x
