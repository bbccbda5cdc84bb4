"""Pooling: every padding and rounding."""

import numpy as np
import pytest

from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.ops.cases import Case, check, graph_of, x

X = x(2, 3, 9, 10)
FORMS = [
    {"kernel_shape": [3, 3]},
    {"kernel_shape": [3, 2], "strides": [2, 2]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [0, 0, 1, 1]},
    {"kernel_shape": [2, 3], "strides": [2, 2], "pads": [1, 2, 0, 1]},
    {"kernel_shape": [3, 3], "strides": [2, 3], "ceil_mode": 1},
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1},
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [0, 0, 1, 1], "ceil_mode": 1},
    {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "SAME_UPPER"},
    {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "SAME_LOWER"},
    {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "VALID"},
    {"kernel_shape": [2, 2], "dilations": [2, 3]},
    {"kernel_shape": [2, 2], "dilations": [2, 3], "pads": [1, 0, 0, 1]},
]
GLOBAL = ("GlobalAveragePool", "GlobalMaxPool")
CASES = [
    *(Case(op="MaxPool", inputs=(X,), attributes=form) for form in FORMS),
    *(Case(op="AveragePool", inputs=(X,), opset=19, attributes=form) for form in FORMS),
    *(
        Case(
            op="MaxPool",
            inputs=(X,),
            attributes={**form, "storage_order": order},
            num_outputs=2,
            note=f"places {i} {order}",
        )
        for i, form in enumerate((*FORMS[:3], FORMS[5], FORMS[11]))
        for order in (0, 1)
    ),
    Case(
        op="MaxUnpool",
        inputs=(x(1, 2, 2, 2), np.array([[[[1, 6], [8, 15]], [[16, 19], [25, 31]]]], dtype=np.int64)),
        attributes={"kernel_shape": [2, 2], "strides": [2, 2]},
    ),
    *(Case(op="AveragePool", inputs=(X,), opset=19, attributes={**form, "count_include_pad": 1}) for form in FORMS),
    *(Case(op=op, inputs=(X,), opset=19, attributes=FORMS[3], free=(0, 2, 3)) for op in ("MaxPool", "AveragePool")),
    *(Case(op=op, inputs=(X,), opset=19, attributes=FORMS[8], free=(0, 2, 3)) for op in ("MaxPool", "AveragePool")),
    *(Case(op=op, inputs=(X,), opset=19, attributes=FORMS[7], free=(0, 2, 3)) for op in ("MaxPool", "AveragePool")),
    *(Case(op="LpPool", inputs=(X,), opset=18, attributes={**form, "p": p}) for form in FORMS[:5] for p in (1, 2, 3)),
    *(
        Case(op=op, inputs=(x(2, 3, *([7] * n)),), attributes={"kernel_shape": [3] * n, "strides": [2] * n})
        for op in ("MaxPool", "AveragePool")
        for n in (1, 3)
    ),
    Case(
        op="MaxPool",
        inputs=(np.arange(60, dtype=np.int8).reshape(1, 3, 4, 5) - 30,),
        attributes={"kernel_shape": [2, 2], "pads": [1, 0, 0, 1]},
    ),
    *(
        Case(op=op, inputs=(x(2, 3, *([5] * n)),), note=f"{n}d")
        for op in ("GlobalAveragePool", "GlobalMaxPool")
        for n in (1, 2, 3)
    ),
    Case(op="GlobalLpPool", inputs=(X,), attributes={"p": 3}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_same_padding_of_dilated_windows_is_refused(op: str) -> None:
    """ONNX Runtime leaves the dilation out, so that even the size of its result differs from the specification's."""
    attributes = {"kernel_shape": [3, 3], "dilations": [2, 2], "auto_pad": "SAME_UPPER"}
    with pytest.raises(MigrateError, match="engines differ"):
        graph_of(Case(op=op, inputs=(x(2, 3, 8, 8),), attributes=attributes, opset=22))


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_same_padding_of_windows_far_apart_is_refused(op: str) -> None:
    """ONNX Runtime cuts half of the gap from the start, or stops, where TensorFlow starts at the first element."""
    attributes = {"kernel_shape": [2, 1], "strides": [2, 3], "auto_pad": "SAME_UPPER"}
    with pytest.raises(MigrateError, match="gaps of more than 1"):
        graph_of(Case(op=op, inputs=(x(2, 3, 8, 8),), attributes=attributes))
