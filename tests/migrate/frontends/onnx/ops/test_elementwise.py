"""Arithmetic, comparison and logic."""

import numpy as np
import pytest

from tests.migrate.frontends.onnx.ops.cases import Case, check, f32, ints, x

X, Y = x(2, 3, 4), x(3, 1, seed=1)
POSITIVE = np.abs(X) + 0.5
UNIT = np.tanh(X) * 0.9
N, M = np.array([[7, -7, 5], [-5, 9, 3]], dtype=np.int64), np.array([2, -2, 3], dtype=np.int64)
BOOL, OTHER = X > 0, Y > 0
UINT = np.array([1, 6, 200], dtype=np.uint8)
CASES = [
    *(Case(op=op, inputs=(X, Y)) for op in ("Add", "Sub", "Mul")),
    Case(op="Div", inputs=(X, np.abs(Y) + 1)),
    Case(op="Div", inputs=(N, M), note="integers towards zero"),
    Case(op="Add", inputs=(X, np.float32(2)), constants=(1,), note="a constant"),
    *(Case(op=op, inputs=(X, Y), gradient=False) for op in ("Less", "Greater", "LessOrEqual", "GreaterOrEqual")),
    Case(op="Equal", inputs=(N, np.abs(N))),
    *(Case(op=op, inputs=(BOOL, OTHER)) for op in ("And", "Or", "Xor")),
    Case(op="Not", inputs=(BOOL,)),
    *(Case(op=op, inputs=(X,)) for op in ("Neg", "Exp", "Abs", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh")),
    *(Case(op=op, inputs=(X,)) for op in ("Erf", "Sign", "Floor", "Ceil", "Round")),
    *(Case(op=op, inputs=(POSITIVE,)) for op in ("Sqrt", "Log", "Reciprocal")),
    *(Case(op=op, inputs=(UNIT,)) for op in ("Asin", "Acos", "Atanh")),
    Case(op="Acosh", inputs=(POSITIVE + 1,)),
    Case(op="Round", inputs=(f32(0.5, 1.5, 2.5, -0.5, -1.5),), note="halves to even"),
    Case(op="Pow", inputs=(POSITIVE, Y)),
    Case(op="Pow", inputs=(X, ints(2)), note="an integer power"),
    Case(op="Pow", inputs=(np.abs(N), f32(2.0)), gradient=False, note="an integer base"),
    *(Case(op="Mod", inputs=(N, M), attributes=a) for a in ({}, {"fmod": 1})),
    Case(op="Mod", inputs=(X, POSITIVE), attributes={"fmod": 1}),
    *(
        Case(op="BitShift", inputs=(UINT, np.array([1, 2, 3], dtype=np.uint8)), attributes={"direction": d})
        for d in ("LEFT", "RIGHT")
    ),
    *(Case(op=op, inputs=(N, M), opset=18, engine="reference") for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")),
    Case(op="BitwiseNot", inputs=(N,), opset=18, engine="reference"),
    *(Case(op=op, inputs=(f32(1, np.inf, -np.inf, np.nan),), gradient=False) for op in ("IsInf", "IsNaN")),
    Case(op="IsInf", inputs=(f32(1, np.inf, -np.inf),), attributes={"detect_negative": 0}, gradient=False),
    Case(op="IsInf", inputs=(f32(1, np.inf, -np.inf),), attributes={"detect_positive": 0}, gradient=False),
    Case(op="Clip", inputs=(X, np.float32(-0.5), np.float32(0.5)), constants=(1, 2), note="both bounds"),
    Case(op="Clip", inputs=(X, None, np.float32(0.5)), constants=(2,), note="one bound"),
    Case(op="Clip", inputs=(X,), opset=6, attributes={"min": -0.5, "max": 0.5}),
    Case(op="Clip", inputs=(X, np.float32(-0.5), np.float32(0.5)), note="computed bounds"),
    Case(op="Where", inputs=(BOOL, X, Y), gradient=False),
    Case(
        op="Where", inputs=(BOOL, np.float64(1), np.float64(0)), constants=(1, 2), note="two constants keep their type"
    ),
    *(Case(op=op, inputs=(X, Y, X * 2)) for op in ("Sum", "Mean", "Max", "Min")),
    *(Case(op=op, inputs=(X,)) for op in ("Sum", "Max")),
    Case(op="Cast", inputs=(X * 10,), attributes={"to": 7}, gradient=False),
    Case(op="Cast", inputs=(N,), attributes={"to": 1}),
    Case(op="Cast", inputs=(X,), attributes={"to": 9}, gradient=False),
    Case(op="CastLike", inputs=(X, N), gradient=False),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)
