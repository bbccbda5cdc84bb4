"""Arithmetic, comparison and logic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import onnx_ir as ir

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.narrow import CARRIERS, HALF, dtype_name, wrapped
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Dim, Value

Binary = Callable[[OnnxBuilder, Value, Value], Value]


def binary(name: str, op: str, since: int = 7) -> Binary:
    """Register an operator of two inputs that broadcasts as torch does."""

    @onnx_op(name, since=since)
    def onnx_binary(b: OnnxBuilder, A: Value, B: Value) -> Value:
        return getattr(b, op)(A, B)

    return onnx_binary


def aligned(b: OnnxBuilder, A: Value, B: Value, broadcast: int, axis: int | None) -> Value:
    """`B` with axes of size 1 after its own, so that its first is the given axis of `A`."""
    if not broadcast or axis is None or not B.rank:
        return B
    return b.reshape(B, (*B.shape, *[1] * (A.rank - axis % A.rank - B.rank)))


def binary_1(name: str, read: Binary) -> None:
    """Register the form before opset 7: broadcasting on request, from a given axis on."""

    @onnx_op(name, since=1)
    def onnx_binary_1(
        b: OnnxBuilder, A: Value, B: Value, *, axis: int | None = None, broadcast: int = 0, consumed_inputs: Any = None
    ) -> Value:
        del consumed_inputs
        return read(b, A, aligned(b, A, B, broadcast, axis))


def unary(name: str, op: str, since: int = 1) -> None:
    """Register an operator of one input; `consumed_inputs` was a hint of the first opset."""

    @onnx_op(name, since=since)
    def onnx_unary(b: OnnxBuilder, X: Value, *, consumed_inputs: Any = None) -> Value:
        del consumed_inputs
        return getattr(b, op)(X)


for _name, _op in (
    ("Add", "add"),
    ("Sub", "sub"),
    ("Mul", "mul"),
    ("Equal", "eq"),
    ("Less", "lt"),
    ("Greater", "gt"),
    ("And", "logical_and"),
    ("Or", "logical_or"),
    ("Xor", "logical_xor"),
):
    binary_1(_name, binary(_name, _op))
for _name, _op in (("LessOrEqual", "le"), ("GreaterOrEqual", "ge")):
    binary(_name, _op, since=12)
for _name, _op in (("BitwiseAnd", "bitwise_and"), ("BitwiseOr", "bitwise_or"), ("BitwiseXor", "bitwise_xor")):
    binary(_name, _op, since=18)
for _name, _op, _since in (
    ("Sqrt", "sqrt", 1),
    ("Neg", "neg", 1),
    ("Exp", "exp", 1),
    ("Log", "log", 1),
    ("Abs", "abs", 1),
    ("Floor", "floor", 1),
    ("Ceil", "ceil", 1),
    ("Reciprocal", "reciprocal", 1),
    ("Not", "logical_not", 1),
    ("Sin", "sin", 7),
    ("Cos", "cos", 7),
    ("Tan", "tan", 7),
    ("Asin", "asin", 7),
    ("Acos", "acos", 7),
    ("Atan", "atan", 7),
    ("Sinh", "sinh", 9),
    ("Cosh", "cosh", 9),
    ("Asinh", "asinh", 9),
    ("Acosh", "acosh", 9),
    ("Atanh", "atanh", 9),
    ("Erf", "erf", 9),
    ("Sign", "sign", 9),
    ("IsNaN", "isnan", 9),
    ("Round", "round", 11),
    ("BitwiseNot", "bitwise_not", 18),
):
    unary(_name, _op, _since)


@onnx_op("Div", since=7)
def onnx_div(b: OnnxBuilder, A: Value, B: Value) -> Value:
    """Integers are divided towards zero, and sizes stay sizes."""
    if A.is_float:
        return b.div(A, B)
    if A.static is not None and B.static is not None and (not _negative(A) and not _negative(B)):
        return b.floor_div(A, B)
    return b.trunc_div(A, B, rounding_mode="trunc")


def _negative(value: Value) -> bool:
    assert value.static is not None
    return any((min(v.values) if isinstance(v, Dim) else v) < 0 for v in value.static.reshape(-1).tolist())


binary_1("Div", onnx_div)


@onnx_op("Pow", since=7)
def onnx_pow(b: OnnxBuilder, X: Value, Y: Value) -> Value:
    """The result has the type of the base."""
    power = b.pow(X, Y)
    return power if X.is_float or not Y.is_float else b.cast(power, f"torch.{X.dtype}")


binary_1("Pow", onnx_pow)


@onnx_op("Mod", since=10)
def onnx_mod(b: OnnxBuilder, A: Value, B: Value, *, fmod: int = 0) -> Value:
    """The sign follows the divisor, as in Python, or with `fmod` the dividend, as in C."""
    if fmod:
        return b.fmod(A, B)
    return b.mod(A, B) if A.static is not None and B.static is not None else b.remainder(A, B)


@onnx_op("BitShift", since=11)
def onnx_bit_shift(b: OnnxBuilder, X: Value, Y: Value, *, direction: str) -> Value:
    """Left or right; a shift by more than the width leaves 0, or the sign."""
    return b.bitwise_left_shift(X, Y) if direction == "LEFT" else b.bitwise_right_shift(X, Y)


@onnx_op("BitCast", since=26)
def onnx_bit_cast(b: OnnxBuilder, input: Value, *, to: int) -> Value:
    """The same bits read as another type of the same width."""
    kind = dtype_name(ir.DataType(to))
    if kind in HALF:
        raise Unsupported("BitCast to a 16-bit float, which the package computes in 32 bits")
    if b.kind(input) in CARRIERS or kind in CARRIERS:
        if input.is_float or "float" in kind:
            raise Unsupported(f"BitCast from {b.kind(input)} to {kind}")
        return cast_to(b, input, kind, False, "up")  # as the bits wrap
    return b.bitcast(input, f"torch.{kind}")


@onnx_op("IsInf", since=10)
def onnx_is_inf(b: OnnxBuilder, X: Value, *, detect_negative: int = 1, detect_positive: int = 1) -> Value:
    """Either sign, or one."""
    if detect_negative and detect_positive:
        return b.isinf(X)
    if not detect_negative and not detect_positive:
        return b.cast(b.zeros_like(X), "torch.bool")
    return b.eq(X, math.inf if detect_positive else -math.inf)


@onnx_op("Clip", since=11)
def onnx_clip(b: OnnxBuilder, input: Value, min: Value | None = None, max: Value | None = None) -> Value:
    """Bounds are inputs since opset 11."""
    return input if min is None and max is None else b.clamp(input, min, max)


@onnx_op("Clip", since=1)
def onnx_clip_1(
    b: OnnxBuilder, input: Value, *, min: float | None = None, max: float | None = None, consumed_inputs: Any = None
) -> Value:
    """Bounds were attributes before opset 11."""
    del consumed_inputs
    return input if min is None and max is None else b.clamp(input, min, max)


@onnx_op("Where", since=9)
def onnx_where(b: OnnxBuilder, condition: Value, X: Value, Y: Value) -> Value:
    """Scalars are numbers in the call; two of them would lose their type."""
    if X.static is not None and Y.static is not None and condition.static is None:
        chosen = b.where(condition, X, Y)
        return chosen if chosen.dtype == X.dtype else b.cast(chosen, f"torch.{X.dtype}")
    return b.where(condition, X, Y)


def variadic(name: str, op: str, since: int) -> None:
    """Register an operator that joins any number of inputs pair by pair."""

    @onnx_op(name, since=since)
    def onnx_variadic(b: OnnxBuilder, *inputs: Value, consumed_inputs: Any = None) -> Value:
        del consumed_inputs
        return joined(b, op, inputs)


def joined(b: OnnxBuilder, op: str, inputs: tuple[Value, ...]) -> Value:
    """`inputs` joined from the left."""
    total = inputs[0]
    for value in inputs[1:]:
        total = getattr(b, op)(total, value)
    return total


variadic("Sum", "add", since=1)
variadic("Max", "maximum", since=1)
variadic("Min", "minimum", since=1)


@onnx_op("Mean")
def onnx_mean(b: OnnxBuilder, *inputs: Value, consumed_inputs: Any = None) -> Value:
    """The sum over the number of inputs."""
    del consumed_inputs
    total = joined(b, "add", inputs)
    return total if len(inputs) == 1 else b.div(total, float(len(inputs)))


def named_type(code: int) -> str:
    """The dtype of an ONNX type code; 16-bit floats are float32 here, in which the package trains."""
    name = dtype_name(ir.DataType(code))
    if name in CARRIERS:
        raise Unsupported(f"a tensor made as {name}")
    return HALF.get(name, name)


@onnx_op("Cast", since=6)
def onnx_cast(b: OnnxBuilder, input: Value, *, to: Any, saturate: int = 1, round_mode: str = "up") -> Value:
    """A size stays exact through a cast; a cast between the floats of training precision is none."""
    return cast_to(b, input, dtype_name(ir.DataType(to)), bool(saturate), round_mode)


@onnx_op("Cast", since=1)
def onnx_cast_1(b: OnnxBuilder, input: Value, *, to: str) -> Value:
    """The type is given by its name."""
    if to.upper() not in ir.DataType.__members__:
        raise Unsupported(f"a cast to {to!r}")
    return onnx_cast(b, input, to=ir.DataType[to.upper()])


def cast_to(b: OnnxBuilder, x: Value, kind: str, saturate: bool, round_mode: str) -> Value:
    """`x` in another element type of the source: rounded or wrapped to what the type holds, carried in another one."""
    if x in b.rounded and "float" in kind:
        x = b.rounded[x]
    if kind not in CARRIERS:
        return cast(b, x, HALF.get(kind, kind))
    if kind.startswith("float"):
        return b.marked(rounded(b, cast(b, x, CARRIERS[kind]), kind, saturate, round_mode), kind)
    whole = cast(b, x, "int64") if x.is_float or x.dtype == "bool" else x
    return b.marked(cast(b, whole if b.kind(x) == kind else wrapped(b, whole, kind), CARRIERS[kind]), kind)


def rounded(b: OnnxBuilder, x: Value, kind: str, saturate: bool, round_mode: str = "up") -> Value:
    """Floats rounded to those of a type of 8 or 4 bits."""
    if kind == "float4e2m1":
        return b.round_float4(x)
    if kind == "float8e8m0":
        return b.round_power(x, saturate, round_mode)
    return b.round_float8(x, kind.removeprefix("float8"), saturate)


def cast(b: OnnxBuilder, x: Value, dtype: str) -> Value:
    """`x` in another type, known values included."""
    if dtype == x.dtype:
        return x
    if x.static is not None:
        return b.static(_converted(x, dtype), dtype)
    return b.cast(x, f"torch.{dtype}")


def _converted(x: Value, dtype: str) -> Any:
    assert x.static is not None
    kind = float if "float" in dtype else bool if dtype == "bool" else int
    items = [v if isinstance(v, Dim) else kind(v) for v in x.static.reshape(-1).tolist()]
    made = x.static.copy()
    made.reshape(-1)[:] = items
    return made


@onnx_op("CastLike", since=15)
def onnx_cast_like(
    b: OnnxBuilder, input: Value, target_type: Value, *, saturate: int = 1, round_mode: str = "up"
) -> Value:
    """To the type of the second input."""
    return cast_to(b, input, b.kind(target_type), bool(saturate), round_mode)
