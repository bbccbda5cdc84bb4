"""What a file says of itself, and what it no longer has."""

from __future__ import annotations

from typing import Any

import onnx
import pytest

from migrate.frontends.onnx import describe, open_onnx
from migrate.graph.description import Description
from tests.onnx_files import build, conv_net, mlp, node, positive, weight


def described(model: onnx.ModelProto) -> Description:
    return describe(open_onnx(model))


def convolutions(count: int, *, bias: bool, norm: bool = False) -> onnx.ModelProto:
    nodes: list[Any] = []
    value = "x"
    for i in range(count):
        nodes.append(node("Conv", [value, "C", *(["b"] if bias else [])], [f"c{i}"], pads=[1, 1, 1, 1]))
        value = f"c{i}"
    last = ["BatchNormalization", [value, "b", "b", "b", "v"]] if norm else ["Relu", [value]]
    weights = {"C": weight(3, 3, 3, 3), "b": weight(3), "v": positive(3)}
    return build([*nodes, node(last[0], last[1], ["y"])], weights, inputs=("x", ("N", 3, 8, 8)))


def has(found: Description, words: str) -> bool:
    return any(words in oddity for oddity in found.oddities)


def test_facts() -> None:
    model = mlp()
    model.producer_version = "1.2"
    found = described(model)
    assert (found.format, found.producer, dict(found.opsets)) == ("ONNX", "tests 1.2", {"ai.onnx": 17})
    assert dict(found.operators) == {"Add": 1, "MatMul": 2, "Relu": 1}


@pytest.mark.parametrize(
    ("model", "folded"),
    [
        (convolutions(3, bias=True), True),
        (convolutions(3, bias=False), False),
        (convolutions(3, bias=True, norm=True), False),
        (convolutions(2, bias=True), False),
    ],
)
def test_normalisation_that_was_folded_away(model: onnx.ModelProto, folded: bool) -> None:
    assert has(described(model), "folded at export") == folded


def test_an_export_in_training_has_nothing_odd() -> None:
    assert described(conv_net()).oddities == ()


def test_dropout_that_is_missing() -> None:
    assert has(described(conv_net(training=False)), "there is no Dropout")


@pytest.mark.parametrize(
    ("producer", "metadata", "name"),
    [("onnxslim", {}, "onnxslim"), ("", {"note": "by OnnxSim 0.4"}, "onnxsim"), ("pytorch", {}, "")],
)
def test_simplifiers_are_told(producer: str, metadata: dict[str, str], name: str) -> None:
    model = mlp()
    model.producer_name = producer
    onnx.helper.set_model_props(model, metadata)
    assert has(described(model), "the file went through") == bool(name)
    assert has(described(model), f"the file went through {name}") == bool(name)


def test_nodes_without_names() -> None:
    model = mlp()
    for each in model.graph.node:
        each.name = ""
    assert has(described(model), "nodes have no names") and not has(described(mlp()), "nodes have no names")


def test_weights_in_constant_nodes() -> None:
    tensor = onnx.numpy_helper.from_array(weight(8, 6), "W")
    nodes = [node("Constant", [], ["W"], value=tensor), node("MatMul", ["x", "W"], ["y"])]
    assert has(described(build(nodes, {})), "stored in Constant nodes")
