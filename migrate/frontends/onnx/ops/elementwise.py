"""Arithmetic, comparison and logic."""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder, dtype_name
from migrate.frontends.onnx.registry import onnx_op
from migrate.graph import Value


def binary(name: str, op: str, since: int = 7) -> None:
    """Register an operator of two inputs that broadcasts as torch does."""

    @onnx_op(name, since=since)
    def onnx_binary(b: OnnxBuilder, A: Value, B: Value) -> Value:
        return getattr(b, op)(A, B)


def unary(name: str, op: str, since: int = 1) -> None:
    """Register an operator of one input and no attributes."""

    @onnx_op(name, since=since)
    def onnx_unary(b: OnnxBuilder, X: Value) -> Value:
        return getattr(b, op)(X)


for _name, _op in (("Add", "add"), ("Sub", "sub"), ("Mul", "mul"), ("Pow", "pow"), ("Equal", "eq")):
    binary(_name, _op)
for _name, _op in (
    ("Sqrt", "sqrt"),
    ("Neg", "neg"),
    ("Exp", "exp"),
    ("Log", "log"),
    ("Abs", "abs"),
    ("Floor", "floor"),
):
    unary(_name, _op)


@onnx_op("Div", since=7)
def onnx_div(b: OnnxBuilder, A: Value, B: Value) -> Value:
    """Integers are divided towards zero, and sizes stay sizes."""
    if A.is_float:
        return b.div(A, B)
    if A.static is not None and B.static is not None:
        return b.floor_div(A, B)
    return b.trunc_div(A, B, rounding_mode="trunc")


@onnx_op("Clip", since=11)
def onnx_clip(b: OnnxBuilder, input: Value, min: Value | None = None, max: Value | None = None) -> Value:
    """Bounds are inputs since opset 11."""
    return b.clamp(input, min, max)


@onnx_op("Clip", since=6)
def onnx_clip_6(b: OnnxBuilder, input: Value, *, min: float | None = None, max: float | None = None) -> Value:
    """Bounds were attributes before opset 11."""
    return b.clamp(input, min, max)


@onnx_op("Where", since=9)
def onnx_where(b: OnnxBuilder, condition: Value, X: Value, Y: Value) -> Value:
    """Scalars are numbers in the call."""
    return b.where(condition, X, Y)


@onnx_op("Cast", since=6)
def onnx_cast(b: OnnxBuilder, input: Value, *, to: Any, saturate: int = 1) -> Value:
    """A size stays exact through a cast; a cast between the floats of training precision is none."""
    del saturate  # matters for 8-bit floats only, which have no dtype here
    dtype = dtype_name(_data_type(to))
    dtype = {"float16": "float32", "bfloat16": "float32"}.get(dtype, dtype)
    if dtype == input.dtype:
        return input
    if input.static is not None:
        return b.static(input.static, dtype)
    return b.cast(input, f"torch.{dtype}")


def _data_type(code: int) -> Any:
    import onnx_ir as ir

    return ir.DataType(code)
