"""Look-ups, scatters, sorting, masks, and tensors that are made."""

import numpy as np
import onnx.numpy_helper
import pytest

from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.ops.cases import Case, check, f32, graph_of, ints, x

X = x(3, 4, 5)
ROWS = np.array([[0, 2], [-1, 1]], dtype=np.int64)
PLACES = np.array([[0, 1], [2, -1]], dtype=np.int64)
CELLS = np.array([[[0, 1, 0, 2, 1]], [[-1, 0, 2, 1, 0]]], dtype=np.int64)
TIES = f32(1, 3, 3, 2, 3, 1).reshape(2, 3)
CASES = [
    *(Case(op="Gather", inputs=(X, ROWS), attributes={"axis": axis}) for axis in (0, 1, -1)),
    *(Case(op="Gather", inputs=(X, ROWS), constants=(1,), attributes={"axis": axis}) for axis in (0, 1)),
    Case(op="Gather", inputs=(X, np.int64(-2)), constants=(1,), attributes={"axis": 1}),
    Case(op="Gather", inputs=(x(7, 4), np.abs(ROWS)), constants=(0,), note="an embedding", gradient=False),
    Case(op="Gather", inputs=(X, ints(1, -1)), constants=(1,), attributes={"axis": 2}),
    *(Case(op="GatherElements", inputs=(X, CELLS), constants=c, attributes={"axis": 1}) for c in ((), (1,))),
    *(Case(op="GatherND", inputs=(X, PLACES), constants=c) for c in ((), (1,))),
    Case(op="GatherND", inputs=(x(2, 3, 4), PLACES), attributes={"batch_dims": 1}, opset=13),
    *(
        Case(op="ScatterElements", inputs=(X, CELLS, x(2, 1, 5)), opset=18, attributes={"axis": 0, "reduction": r})
        for r in ("none", "add", "mul", "max", "min")
    ),
    *(
        Case(op="ScatterND", inputs=(X, PLACES, x(2, 5)), opset=18, attributes={"reduction": r})
        for r in ("none", "add", "mul", "max", "min")
    ),
    *(
        Case(op="TopK", inputs=(TIES, ints(2)), constants=(1,), attributes={"largest": n}, num_outputs=2)
        for n in (0, 1)
    ),
    Case(op="TopK", inputs=(X, ints(2)), constants=(1,), attributes={"axis": 1}, opset=10, num_outputs=2),
    *(
        Case(op="OneHot", inputs=(ROWS, np.int64(3), f32(-1, 2)), constants=(1, 2), attributes={"axis": a})
        for a in (-1, 0, 1)
    ),
    *(
        Case(
            op="ReverseSequence",
            inputs=(x(4, 3, 2) if time == 0 else x(3, 4, 2), ints(1, 4, 2)),
            attributes={"time_axis": time, "batch_axis": 1 - time},
            gradcheck=True,
        )
        for time in (0, 1)
    ),
    *(
        Case(op="Trilu", inputs=(x(2, 4, 5), np.int64(k)), constants=(1,), attributes={"upper": u})
        for k in (-1, 0, 2)
        for u in (0, 1)
    ),
    Case(op="EyeLike", inputs=(x(3, 4),), attributes={"k": 1}, gradient=False),
    Case(op="Compress", inputs=(X, np.array([True, False, True])), constants=(1,), attributes={"axis": 1}),
    Case(op="Range", inputs=(np.int64(2), np.int64(9), np.int64(3)), constants=(0, 1, 2)),
    Case(op="Range", inputs=(np.float32(1), np.float32(0), np.float32(-0.3)), constants=(0, 1, 2)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)


def test_rows_of_a_weight_are_an_embedding() -> None:
    assert [n.op.name for n in graph_of(next(c for c in CASES if c.note == "an embedding")).nodes] == ["embedding"]


def filled(value: np.ndarray) -> Case:
    tensor = onnx.numpy_helper.from_array(value, "value")
    return Case(op="ConstantOfShape", inputs=(ints(2, 3),), constants=(0,), attributes={"value": tensor})


@pytest.mark.parametrize("value", [f32(0.5), ints(7)])
def test_a_constant_of_a_known_shape(value: np.ndarray) -> None:
    check(filled(value))


def test_a_float_of_a_known_shape_is_a_weight_under_its_own_name() -> None:
    (copy,) = graph_of(filled(f32(0.5))).nodes
    assert copy.op.name == "clone" and copy.args[0].weight.source == "o0"


def test_a_size_that_depends_on_the_data_is_refused() -> None:
    with pytest.raises(MigrateError, match="depends on the data"):
        graph_of(Case(op="NonZero", inputs=(X,)))
