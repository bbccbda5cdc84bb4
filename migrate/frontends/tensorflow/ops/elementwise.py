"""Arithmetic, comparison and logic, element by element."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from migrate.frontends.tensorflow.builder import Laid, TensorflowBuilder
from migrate.frontends.tensorflow.registry import Unsupported, tf_op
from migrate.graph import Value

BINARY = {
    "Add": "add", "AddV2": "add", "Sub": "sub", "Mul": "mul", "RealDiv": "div", "Maximum": "maximum", "Minimum": "minimum",
    "Pow": "pow", "FloorDiv": "floor_div", "FloorMod": "mod", "Less": "lt", "LessEqual": "le", "Greater": "gt",
    "GreaterEqual": "ge", "LogicalAnd": "logical_and", "LogicalOr": "logical_or", "Atan2": "atan2", "Xlogy": "xlogy",
    "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor", "Mod": "fmod", "TruncateMod": "fmod",
    "LeftShift": "bitwise_left_shift", "RightShift": "bitwise_right_shift",
}  # fmt: skip
UNARY = {
    "Abs": "abs", "Neg": "neg", "Exp": "exp", "Log": "log", "Log1p": "log1p", "Expm1": "expm1", "Sqrt": "sqrt",
    "Rsqrt": "rsqrt", "Square": "square", "Reciprocal": "reciprocal", "Inv": "reciprocal", "Erf": "erf", "Sign": "sign",
    "Floor": "floor", "Ceil": "ceil", "Round": "round", "Rint": "round", "Sin": "sin", "Cos": "cos", "Tan": "tan",
    "Asin": "asin", "Acos": "acos", "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh", "Asinh": "asinh", "Acosh": "acosh",
    "Atanh": "atanh", "LogicalNot": "logical_not", "IsNan": "isnan", "IsInf": "isinf", "IsFinite": "isfinite",
    "Lgamma": "lgamma", "Digamma": "digamma", "Invert": "bitwise_not", "Erfinv": "erfinv",
}  # fmt: skip


def _binary(name: str) -> Callable[..., Value]:
    def handler(b: TensorflowBuilder, x: Value, y: Value) -> Value:
        return getattr(b, name)(x, y)

    return handler


def _unary(name: str) -> Callable[..., Value]:
    def handler(b: TensorflowBuilder, x: Value) -> Value:
        return getattr(b, name)(x)

    return handler


for _tf, _name in BINARY.items():
    tf_op(_tf, layout="any")(_binary(_name))
for _tf, _name in UNARY.items():
    tf_op(_tf, layout="any")(_unary(_name))


@tf_op("Div", "TruncateDiv", layout="any")
def tf_div(b: TensorflowBuilder, x: Value, y: Value) -> Value:
    """Towards zero for integers."""
    return b.div(x, y) if x.is_float else b.trunc_div(x, y, rounding_mode="trunc")


@tf_op("Equal", layout="any")
def tf_equal(b: TensorflowBuilder, x: Value, y: Value) -> Value:
    """Whether the elements are equal."""
    return b.eq(x, y)


@tf_op("NotEqual", layout="any")
def tf_not_equal(b: TensorflowBuilder, x: Value, y: Value) -> Value:
    """Whether the elements differ."""
    return b.ne(x, y)


def _argument_of(value: Value, op: str) -> Value | None:
    """What an operation took that made the value; None where another one did."""
    return value.node.args[0] if value.node is not None and value.node.op.name == op else None


@tf_op("Erfc", layout="any")
def tf_erfc(b: TensorflowBuilder, x: Value) -> Value:
    """1 - erf(x): an odd function, so of what was negated first it is 1 + erf, as GELU is written."""
    scaled = x.node if x.node is not None and x.node.op.name == "mul" else None
    plain = _argument_of(scaled.args[0], "neg") if scaled is not None and isinstance(scaled.args[0], Value) else None
    if scaled is not None and plain is not None:
        return b.add(b.erf(b.mul(plain, scaled.args[1])), 1.0)
    return b.sub(1.0, b.erf(x))


@tf_op("SquaredDifference", layout="any")
def tf_squared_difference(b: TensorflowBuilder, x: Value, y: Value) -> Value:
    """The square of the difference; around a mean its gradient by that mean is zero, so nothing need be stopped there."""
    stopped = _argument_of(y, "detach")
    if stopped is not None and _argument_of(stopped, "mean") is x:
        y = stopped
    return b.square(b.sub(x, y))


@tf_op("DivNoNan", layout="any")
def tf_div_no_nan(b: TensorflowBuilder, x: Value, y: Value) -> Value:
    """0 where the divisor is 0, and no gradient there."""
    zero = b.eq(y, 0)
    return b.masked_fill(b.div(x, b.masked_fill(y, zero, 1.0)), zero, 0.0)


@tf_op("MulNoNan", layout="any")
def tf_mul_no_nan(b: TensorflowBuilder, x: Value, y: Value) -> Value:
    """0 where `y` is 0, whatever `x` is."""
    zero = b.eq(y, 0)
    return b.mul(b.masked_fill(x, zero, 0.0), y)


@tf_op("AddN", layout="any")
def tf_add_n(b: TensorflowBuilder, *inputs: Value) -> Value:
    """The sum of all."""
    return reduce(b.add, inputs)


@tf_op("AccumulateNV2", layout="any")
def tf_accumulate_n(b: TensorflowBuilder, *inputs: Value) -> Value:
    """The sum of all."""
    return reduce(b.add, inputs)


@tf_op("ClipByValue", layout="any")
def tf_clip_by_value(b: TensorflowBuilder, t: Value, clip_value_min: Value, clip_value_max: Value) -> Value:
    """Between two bounds."""
    return b.clamp(t, clip_value_min, clip_value_max)


@tf_op("SelectV2", layout="any")
def tf_select_v2(b: TensorflowBuilder, condition: Value, t: Value, e: Value) -> Value:
    """One or the other, each element by itself."""
    return b.where(condition, t, e)


@tf_op("Select", layout="laid")
def tf_select(b: TensorflowBuilder, condition: Laid, t: Laid, e: Laid) -> Any:
    """A condition of one axis chooses whole rows."""
    if condition.rank == 1 and t.rank > 1:
        rows, first, second = (b.to_source(item).value for item in (condition, t, e))
        return b.where(b.reshape(rows, (-1, *[1] * (t.rank - 1))), first, second)
    values, first, flat = b.alike([condition, t, e])
    return Laid(b.where(*values), first, flat)


@tf_op("Cast", layout="any")
def tf_cast(b: TensorflowBuilder, x: Value, *, DstT: str, Truncate: bool = False) -> Value:
    """To another type; what is known stays so."""
    del Truncate
    if DstT in ("string", "variant", "resource"):
        raise Unsupported(f"a cast to {DstT}")
    if x.dtype == DstT:
        return x
    if x.static is not None and x.weight is None and DstT.startswith("int") and not x.is_float and x.dtype != "bool":
        return b.static(x.static, DstT)
    return b.cast(x, f"torch.{DstT}")


@tf_op("StopGradient", "PreventGradient", layout="any")
def tf_stop_gradient(b: TensorflowBuilder, input: Value) -> Value:
    """The value without its gradient."""
    return input if input.static is not None else b.detach(input)
