"""Element types in which torch does not compute: wrapped where an operator leaves their range, kept where it moves."""

import numpy as np
import onnx
import onnx.numpy_helper
import pytest
import torch
from onnx import TensorProto, helper

from migrate.errors import MigrateError
from migrate.frontends.onnx import load_onnx
from migrate.frontends.onnx.narrow import kept_by
from migrate.graph import interpret


def run(op: str, kind: int, *inputs: np.ndarray, **attributes: object) -> torch.Tensor:
    """Two nodes: the operator, and a move, whose result must still be known for what it is."""
    names = [f"i{i}" for i in range(len(inputs))]
    nodes = [
        helper.make_node(op, names, ["y"], **attributes),
        helper.make_node("Identity", ["y"], ["z"]),
        helper.make_node("Add", ["z", "z"], ["total"]),
    ]
    given = [helper.make_tensor_value_info(n, kind, v.shape) for n, v in zip(names, inputs, strict=True)]
    graph = helper.make_graph(nodes, "g", given, [helper.make_empty_tensor_value_info("total")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    wide = "int32" if kind == TensorProto.UINT16 else "int64"
    return interpret(load_onnx(model), *(torch.from_numpy(v.astype(wide)) for v in inputs))[0]


@pytest.mark.parametrize(("op", "function"), [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply)])
@pytest.mark.parametrize(("kind", "dtype"), [(TensorProto.UINT16, np.uint16), (TensorProto.UINT32, np.uint32)])
def test_unsigned_arithmetic_wraps(op: str, function: np.ufunc, kind: int, dtype: type) -> None:
    left, right = np.array([3, 60000, 40000], dtype=dtype), np.array([5, 7000, 50000], dtype=dtype)
    wanted = function(left, right)
    assert run(op, kind, left, right).tolist() == (wanted + wanted).tolist()


def test_comparisons_give_booleans_that_are_not_marked() -> None:
    takes, gives, many = kept_by("Less", "", 18)
    assert takes[0] == takes[1] != gives[0]
    assert not many


def test_an_unknown_operator_keeps_nothing() -> None:
    assert kept_by("NoSuchOperator", "com.example", 1) == ((), (), False)


def test_a_tensor_made_of_such_a_type_is_refused() -> None:
    node = helper.make_node("EyeLike", ["x"], ["y"], dtype=TensorProto.UINT16)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])],
        [helper.make_empty_tensor_value_info("y")],
    )
    with pytest.raises(MigrateError, match="uint16"):
        load_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8))


def test_four_bits_are_read_as_their_values() -> None:
    stored = onnx.numpy_helper.from_array(np.array([-8, 7, 3], dtype=np.int8), "w")
    packed = helper.make_tensor("w", TensorProto.INT4, [3], onnx.numpy_helper.to_array(stored).tolist())
    nodes = [helper.make_node("Cast", ["w"], ["f"], to=TensorProto.FLOAT), helper.make_node("Mul", ["x", "f"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_empty_tensor_value_info("y")],
        [packed],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    assert interpret(load_onnx(model), torch.ones(3))[0].tolist() == [-8, 7, 3]
