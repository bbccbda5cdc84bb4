"""Reductions and scans, with axes as an attribute and as an input."""

import numpy as np
import pytest

from tests.migrate.frontends.onnx.ops.cases import Case, check, ints, x

X = np.abs(x(2, 3, 4)) + 0.1
OPS = (
    "ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare",
    "ReduceLogSum", "ReduceLogSumExp",
)  # fmt: skip
INTS = np.array([[1, 2, 3], [3, 2, 1]], dtype=np.int32)
TIES = np.array([[1, 3, 3], [2, 2, 1]], dtype=np.float32)
CASES = [
    *(Case(op=op, inputs=(X,), opset=11, attributes={"axes": [1, -1], "keepdims": k}) for op in OPS for k in (0, 1)),
    *(Case(op=op, inputs=(X,), opset=11, attributes={"keepdims": 0}) for op in OPS),
    *(Case(op=op, inputs=(X, ints(0, 2)), opset=18, constants=(1,), note="axes") for op in OPS),
    *(Case(op=op, inputs=(X,), opset=18, note="all") for op in OPS),
    *(
        Case(op=op, inputs=(X, ints()), opset=18, constants=(1,), attributes={"noop_with_empty_axes": 1})
        for op in ("ReduceSum", "ReduceMean", "ReduceMax")
    ),
    *(
        Case(op=op, inputs=(INTS, ints(1)), opset=18, constants=(1,), note="int32")
        for op in ("ReduceSum", "ReduceProd")
    ),
    Case(op="ReduceMean", inputs=(X,), opset=11, attributes={"axes": [2]}, free=(0, 1)),
    *(
        Case(op=op, inputs=(TIES,), attributes={"axis": axis, **more}, gradient=False)
        for op in ("ArgMax", "ArgMin")
        for axis in (0, 1)
        for more in ({}, {"keepdims": 0}, {"select_last_index": 1})
    ),
    *(
        Case(op="CumSum", inputs=(X, np.int64(1)), constants=(1,), attributes=a)
        for a in ({}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1})
    ),
    Case(op="CumSum", inputs=(INTS, np.int64(0)), constants=(1,), note="int32"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)
