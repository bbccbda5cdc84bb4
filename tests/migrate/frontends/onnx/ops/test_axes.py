"""Axes that an input does not have are refused at the node, whichever form they come in."""

import numpy as np
import pytest

from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.ops.cases import Case, check, graph_of, ints, x

X = x(2, 3, 4)
ROWS = ints(1, 0)
CELLS = np.zeros((2, 3, 4), dtype=np.int64)
ONE = (Case(op=op, inputs=(X,), attributes={"axis": 3}) for op in ("Softmax", "LogSoftmax", "Hardmax", "ArgMax"))
WRONG = [
    *ONE,
    *(Case(op=op, inputs=(X,), opset=11, attributes={"axis": -4}) for op in ("Softmax", "LogSoftmax", "Hardmax")),
    *(Case(op="Concat", inputs=(X, X), attributes={"axis": a}) for a in (3, -4)),
    *(Case(op="Gather", inputs=(X, ROWS), constants=c, attributes={"axis": 3}) for c in ((), (1,))),
    Case(op="GatherElements", inputs=(X, CELLS), attributes={"axis": 3}),
    Case(op="ScatterElements", inputs=(X, CELLS, X), attributes={"axis": 3}),
    Case(op="Split", inputs=(X,), attributes={"axis": 3}, num_outputs=2),
    Case(op="Flatten", inputs=(X,), attributes={"axis": 4}),
    Case(op="OneHot", inputs=(ROWS, np.int64(3), ints(0, 1)), constants=(1, 2), attributes={"axis": 2}),
    Case(op="TopK", inputs=(X, ints(2)), constants=(1,), attributes={"axis": 3}, num_outputs=2),
    Case(op="LayerNormalization", inputs=(X, x(4)), attributes={"axis": 3}),
    Case(op="CumSum", inputs=(X, np.int64(3)), constants=(1,)),
    Case(op="ReduceMean", inputs=(X,), attributes={"axes": [1, 3]}),
    Case(op="ReduceSum", inputs=(X, ints(3)), constants=(1,)),
    Case(op="Squeeze", inputs=(x(2, 1), ints(3)), constants=(1,)),
    Case(op="Unsqueeze", inputs=(X, ints(0, 5)), constants=(1,)),
    Case(op="Slice", inputs=(X, ints(0), ints(1), ints(3)), constants=(1, 2, 3)),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda c: c.id)
def test_an_axis_out_of_range_is_refused(case: Case) -> None:
    with pytest.raises(MigrateError) as caught:
        graph_of(case)
    assert [(d.code, d.where) for d in caught.value.diagnostics] == [("MIG304", "node")]
    assert "is out of range for an input of rank" in str(caught.value)


def test_the_last_axis_of_each_form_is_taken() -> None:
    check(Case(op="Unsqueeze", inputs=(X, ints(0, 4)), constants=(1,)))
    check(Case(op="Flatten", inputs=(X,), attributes={"axis": 3}))
    check(Case(op="Softmax", inputs=(X,), attributes={"axis": -3}))
