"""Convolutions: every padding, at fixed and at free sizes."""

import pytest

from tests.migrate.frontends.onnx.ops.cases import Case, check, x

X, W, B = x(2, 4, 9, 10), x(6, 4, 3, 2, seed=1), x(6, seed=2)
FORMS = [
    {},
    {"pads": [1, 1, 1, 1], "strides": [2, 2]},
    {"pads": [0, 1, 2, 0]},
    {"dilations": [2, 3]},
    {"auto_pad": "SAME_UPPER", "strides": [2, 3]},
    {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
    {"auto_pad": "VALID"},
]
T = x(2, 4, 5, 6)
TRANSPOSED = [
    {},
    {"strides": [2, 3], "pads": [1, 1, 1, 1]},
    {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
    {"strides": [2, 2], "pads": [0, 1, 1, 0]},
    {"strides": [3, 2], "output_shape": [15, 14]},
    {"strides": [3, 2], "output_shape": [16, 12], "auto_pad": "SAME_UPPER"},
    {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
    {"strides": [2, 2], "auto_pad": "SAME_LOWER"},
    {"dilations": [2, 2]},
]
CASES = [
    *(Case(op="Conv", inputs=(X, W, B), attributes=form, constants=(1, 2)) for form in FORMS),
    *(Case(op="Conv", inputs=(X, W, B), attributes=form, constants=(1, 2), free=(0, 2, 3)) for form in FORMS),
    Case(op="Conv", inputs=(X, W), note="without bias"),
    Case(op="Conv", inputs=(X, x(6, 2, 3, 2)), attributes={"group": 2}),
    Case(op="Conv", inputs=(x(2, 4, 9), x(6, 4, 3)), note="1d"),
    Case(op="Conv", inputs=(x(2, 4, 5, 6, 7), x(6, 4, 3, 2, 1)), note="3d"),
    *(Case(op="ConvTranspose", inputs=(T, x(4, 3, 3, 3), x(3, seed=2)), attributes=form) for form in TRANSPOSED),
    Case(op="ConvTranspose", inputs=(T, x(4, 3, 3, 3)), attributes={"group": 2}),
    Case(op="ConvTranspose", inputs=(x(2, 4, 5), x(4, 3, 3)), attributes={"strides": [2]}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)
