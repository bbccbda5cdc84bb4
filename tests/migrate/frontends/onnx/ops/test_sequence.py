"""Sequences and optionals, which are gone once the model is read, against the source's own engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from migrate.errors import MigrateError
from migrate.frontends.onnx import load_onnx
from tests.migrate.frontends.onnx.ops.test_control import FLOAT, INT, agrees, const, graph, info, model_of, x

SPLIT = helper.make_node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=0)
PARTS = [const("sizes", np.array([1, 3])), helper.make_node("SplitToSequence", ["x", "sizes"], ["s"], axis=1)]
EVEN = [const("size", np.int64(3)), helper.make_node("SplitToSequence", ["x", "size"], ["s"], axis=1)]
JOIN = helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=1)


def run(nodes: list[onnx.NodeProto]) -> Any:
    """A model of `x` with these nodes, which the emitted module follows."""
    return agrees(
        model_of(graph(nodes, [info("x", FLOAT, ["batch", 4])], [info("y", FLOAT, None)])), [x(2, 4)], [x(5, 4)]
    )


@pytest.mark.parametrize("split", [[SPLIT], PARTS, EVEN], ids=["rows", "sizes", "size"])
def test_an_item_of_a_sequence(split: list[onnx.NodeProto]) -> None:
    run([*split, const("k", np.int64(-1)), helper.make_node("SequenceAt", ["s", "k"], ["y"])])


@pytest.mark.parametrize("split", [PARTS, EVEN], ids=["sizes", "size"])
def test_a_sequence_is_joined(split: list[onnx.NodeProto]) -> None:
    run([*split, JOIN])


def test_a_sequence_is_stacked() -> None:
    run([SPLIT, helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=-1, new_axis=1)])


def test_items_come_and_go() -> None:
    nodes = [
        helper.make_node("SequenceEmpty", [], ["s0"]),
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("SequenceInsert", ["s0", "x"], ["s1"]),
        const("first", np.int64(0)),
        helper.make_node("SequenceInsert", ["s1", "r", "first"], ["s2"]),
        helper.make_node("SequenceInsert", ["s2", "r"], ["s3"]),
        helper.make_node("SequenceErase", ["s3", "first"], ["s"]),
        JOIN,
    ]
    run(nodes)


def test_a_loop_that_carries_a_sequence_is_unrolled() -> None:
    inputs = [info("i", INT, []), info("go", onnx.TensorProto.BOOL, []), onnx.ValueInfoProto(name="t")]
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    inputs[2] = helper.make_value_info("t", kind)
    step = [
        helper.make_node("Cast", ["i"], ["f"], to=FLOAT),
        helper.make_node("Add", ["x", "f"], ["v"]),
        helper.make_node("SequenceInsert", ["t", "v"], ["t2"]),
        helper.make_node("Identity", ["go"], ["go2"]),
    ]
    body = graph(step, inputs, [info("go2", onnx.TensorProto.BOOL, None), helper.make_value_info("t2", kind)])
    nodes = [
        const("three", np.int64(3)),
        helper.make_node("SequenceEmpty", [], ["s0"]),
        helper.make_node("Loop", ["three", "", "s0"], ["s"], body=body),
        JOIN,
    ]
    run(nodes)


def test_an_optional_is_what_it_holds() -> None:
    nodes = [helper.make_node("Optional", ["x"], ["o"]), helper.make_node("OptionalGetElement", ["o"], ["z"])]
    made = graph(
        [*nodes, helper.make_node("Relu", ["z"], ["y"])], [info("x", FLOAT, ["batch", 4])], [info("y", FLOAT, None)]
    )
    loaded = load_onnx(model_of(made, 18))
    assert [node.op.name for node in loaded.nodes] == ["relu"]


def test_a_sequence_as_an_output_is_refused() -> None:
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    made = graph([SPLIT], [info("x", FLOAT, ["batch", 4])], [helper.make_value_info("s", kind)])
    with pytest.raises(MigrateError, match="is no tensor"):
        load_onnx(model_of(made))
