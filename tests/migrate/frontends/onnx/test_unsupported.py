"""What no handler takes, in the order of the nodes, those inside others after the node that holds them."""

from __future__ import annotations

import onnx_ir as ir
from onnx import TensorProto, helper

from migrate.frontends.onnx.unsupported import entry_for, nodes_of, unsupported_nodes


def model() -> ir.Model:
    """A branch that holds a strange operator, after a strange operator."""
    inner = helper.make_graph(
        [helper.make_node("Odd", ["y"], ["a"], name="inside")],
        "g",
        [],
        [helper.make_tensor_value_info("a", TensorProto.FLOAT, None)],
    )
    nodes = [
        helper.make_node("Strange", ["x"], ["y"], name="before"),
        helper.make_node("If", ["f"], ["z"], name="choose", then_branch=inner, else_branch=inner),
        helper.make_node("Relu", ["z"], ["r"], name="after", alpha=1.0),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])]
    inputs.append(helper.make_tensor_value_info("f", TensorProto.BOOL, []))
    outputs = [helper.make_tensor_value_info("r", TensorProto.FLOAT, [2])]
    graph = helper.make_graph(nodes, "m", inputs, outputs)
    return ir.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))


def test_operators_and_attributes_are_listed_at_once() -> None:
    found = unsupported_nodes(model())
    assert [(d.code, d.where) for d in found] == [
        ("MIG201", "before"), ("MIG201", "inside"), ("MIG201", "inside"), ("MIG202", "after"),
    ]  # fmt: skip


def test_the_handler_is_that_of_the_models_opset() -> None:
    made = model()
    kinds = {node.op_type: entry_for(made, node) for node in nodes_of(made.graph)}
    assert kinds["Odd"] is None and kinds["If"] is not None
