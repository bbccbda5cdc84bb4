"""Arithmetic, comparison and logic, element by element; operators where Python has one."""

import math
import operator

import numpy as np

from migrate.graph.ops import declare
from migrate.graph.sizes import apply, decide

_minimum = np.frompyfunc(lambda a, b: apply("min", a, b), 2, 1)
_maximum = np.frompyfunc(lambda a, b: apply("max", a, b), 2, 1)
_floor = np.frompyfunc(lambda a: apply("floor", a), 1, 1)
_ceil = np.frompyfunc(lambda a: apply("ceil", a), 1, 1)
_equal = np.frompyfunc(lambda a, b: decide("==", operator.eq, a, b), 2, 1)
_sqrt = np.frompyfunc(math.sqrt, 1, 1)

declare("add", "operator:add", fold=operator.add, scalars=True, learns=(0, 1))
declare("sub", "operator:sub", fold=operator.sub, scalars=True, learns_attributes=(0, 1))
declare("mul", "operator:mul", fold=operator.mul, scalars=True, learns=(0, 1))
declare("div", "operator:truediv", fold=operator.truediv, scalars=True, learns_attributes=(0, 1))
declare("floor_div", "operator:floordiv", fold=operator.floordiv, scalars=True)
declare("mod", "operator:mod", fold=operator.mod, scalars=True)
declare("pow", "operator:pow", fold=operator.pow, scalars=True, learns_attributes=(1,))
declare("neg", "operator:neg", fold=operator.neg)
declare("lt", "operator:lt", fold=operator.lt, scalars=True, compares=True)
declare("le", "operator:le", fold=operator.le, scalars=True, compares=True)
declare("gt", "operator:gt", fold=operator.gt, scalars=True, compares=True)
declare("ge", "operator:ge", fold=operator.ge, scalars=True, compares=True)
declare("eq", "torch:eq", fold=_equal, scalars=True, compares=True)
declare("ne", "torch:ne", fold=lambda a, b: np.logical_not(_equal(a, b)), scalars=True, compares=True)
declare("bitwise_and", "operator:and_", scalars=True)
declare("bitwise_or", "operator:or_", scalars=True)
declare("bitwise_xor", "operator:xor", scalars=True)
declare("bitwise_not", "operator:invert")
declare("bitwise_left_shift", "torch:bitwise_left_shift", scalars=True)
declare("bitwise_right_shift", "torch:bitwise_right_shift", scalars=True)
declare("trunc_div", "torch:div", scalars=True)
declare("fmod", "torch:fmod", scalars=True)
declare("remainder", "torch:remainder", scalars=True)
declare("minimum", "torch:minimum", fold=_minimum)
declare("maximum", "torch:maximum", fold=_maximum)
declare("clamp", "torch:clamp", scalars=True)
declare(
    "where",
    "torch:where",
    fold=lambda c, a, b: np.where(np.asarray(c, dtype=bool), a, b),
    scalars=True,
    learns_attributes=(1, 2),
)
declare("floor", "torch:floor", fold=_floor)
declare("ceil", "torch:ceil", fold=_ceil)
declare("sqrt", "torch:sqrt", fold=_sqrt)
declare("logical_not", "torch:logical_not", fold=lambda a: np.asarray(np.logical_not(a), dtype=object), compares=True)
declare(
    "logical_and", "torch:logical_and", fold=lambda a, b: np.asarray(np.logical_and(a, b), dtype=object), compares=True
)
declare(
    "logical_or", "torch:logical_or", fold=lambda a, b: np.asarray(np.logical_or(a, b), dtype=object), compares=True
)
declare(
    "logical_xor", "torch:logical_xor", fold=lambda a, b: np.asarray(np.logical_xor(a, b), dtype=object), compares=True
)
declare("cast", "torch:Tensor.to")
declare("bitcast", "torch:Tensor.view")

for _name in (
    "abs", "exp", "log", "log1p", "expm1", "log2", "rsqrt", "reciprocal", "erf", "round", "sign", "trunc",
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "atan2", "square", "nan_to_num",
):  # fmt: skip
    declare(_name, f"torch:{_name}")
for _name in ("isnan", "isinf", "isfinite", "isneginf", "isposinf", "isreal", "isclose", "signbit"):
    declare(_name, f"torch:{_name}", compares=True)
declare("detach", "torch:detach")
for _name in (
    "addcmul",
    "addcdiv",
    "lerp",
    "logaddexp",
    "xlogy",
    "heaviside",
    "erfinv",
    "lgamma",
    "digamma",
    "frac",
    "exp2",
    "sinc",
    "hypot",
    "angle",
    "complex",
    "conj_physical",
    "copysign",
    "deg2rad",
    "float_power",
    "fmax",
    "fmin",
    "frexp",
    "ldexp",
    "log10",
    "logaddexp2",
    "nextafter",
    "polar",
    "rad2deg",
    "sgn",
):
    declare(_name, f"torch:{_name}")
