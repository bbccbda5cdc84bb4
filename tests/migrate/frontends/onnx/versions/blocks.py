"""Models for the operators that hold graphs or handle sequences and optionals, at any opset. Knows no frontend."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.migrate.frontends.onnx.ops.test_control import BOOL, FLOAT, INT, branches, const, graph, info, model_of, scan

H = helper.make_node
ROWS = H("SplitToSequence", ["x"], ["s"], axis=0, keepdims=0)
FIRST = [const("k", np.int64(1)), H("SequenceAt", ["s", "k"], ["y"])]
SEQUENCES: dict[str, list[onnx.NodeProto]] = {
    "SplitToSequence": [ROWS, *FIRST],
    "SequenceAt": [ROWS, *FIRST],
    "ConcatFromSequence": [ROWS, H("ConcatFromSequence", ["s"], ["y"], axis=0, new_axis=1)],
    "SequenceConstruct": [H("SequenceConstruct", ["x", "x"], ["s"]), *FIRST],
    "SequenceEmpty": [H("SequenceEmpty", [], ["e"]), H("SequenceInsert", ["e", "x"], ["e1"]),
                      H("SequenceInsert", ["e1", "x"], ["s"]), *FIRST],
    "SequenceInsert": [ROWS, H("SequenceInsert", ["s", "x"], ["t"]), const("k", np.int64(-1)),
                       H("SequenceAt", ["t", "k"], ["y"])],
    "SequenceErase": [ROWS, const("zero", np.int64(0)), H("SequenceErase", ["s", "zero"], ["t"]),
                      H("ConcatFromSequence", ["t"], ["y"], axis=0)],
    "SequenceLength": [ROWS, H("SequenceLength", ["s"], ["n"]), H("Cast", ["n"], ["f"], to=FLOAT),
                       H("Add", ["x", "f"], ["y"])],
    "Optional": [H("Optional", ["x"], ["o"]), H("OptionalGetElement", ["o"], ["y"])],
    "OptionalHasElement": [H("Optional", ["x"], ["o"]), H("OptionalHasElement", ["o"], ["h"]),
                           H("Cast", ["h"], ["f"], to=FLOAT), H("Add", ["x", "f"], ["y"])],
}  # fmt: skip
SEQUENCES["OptionalGetElement"] = SEQUENCES["Optional"]
X = np.random.default_rng(0).standard_normal((3, 4)).astype("float32")
TIMES = np.random.default_rng(1).standard_normal((2, 5, 4)).astype("float32")


def added(first: str, second: str, made: str) -> onnx.GraphProto:
    """The body of a scan: the sum so far, which is an output of each step as well."""
    nodes = [H("Add", [first, second], [made]), H("Identity", [made], ["part"])]
    inputs = [info(name, FLOAT, [4]) for name in (first, second)]
    return graph(nodes, inputs, [info(name, FLOAT, [4]) for name in (made, "part")])


def loop() -> onnx.ModelProto:
    """Doubles `x` three times."""
    step = [H("Add", ["h", "h"], ["h2"]), H("Identity", ["go"], ["go2"])]
    inputs = [info("i", INT, []), info("go", BOOL, []), info("h", FLOAT, [3, 4])]
    body = graph(step, inputs, [info("go2", BOOL, []), info("h2", FLOAT, [3, 4])])
    nodes = [const("count", np.int64(3)), H("Loop", ["count", "", "x"], ["y"], body=body)]
    return model_of(graph(nodes, [info("x", FLOAT, [3, 4])], [info("y", FLOAT, None)]))


def scan_8() -> onnx.ModelProto:
    """A running sum of each sample, from the end."""
    node = H("Scan", ["", "h", "x"], ["last", "all"], body=added("a", "b", "c"), num_scan_inputs=1, directions=[1])
    inputs = [info("x", FLOAT, [2, 5, 4]), info("h", FLOAT, [2, 4])]
    return model_of(graph([node], inputs, [info("last", FLOAT, None), info("all", FLOAT, None)]))


def mapped() -> onnx.ModelProto:
    """Every row of `x` doubled."""
    body = graph([H("Add", ["r", "r"], ["d"])], [info("r", FLOAT, [4])], [info("d", FLOAT, [4])])
    nodes = [ROWS, H("SequenceMap", ["s"], ["m"], body=body), H("ConcatFromSequence", ["m"], ["y"], axis=0, new_axis=1)]
    return model_of(graph(nodes, [info("x", FLOAT, [3, 4])], [info("y", FLOAT, None)]))


def block_model(op: str, opset: int) -> tuple[onnx.ModelProto, list[np.ndarray[Any, Any]]] | None:
    """A model whose point is `op`, and its inputs; None where this file has none."""
    inputs: list[Any] = [X]
    if op in SEQUENCES:
        model = model_of(graph(SEQUENCES[op], [info("x", FLOAT, [3, 4])], [info("y", FLOAT, None)]))
    elif op == "If":
        model, inputs = branches([H("Cast", ["mode"], ["flag"], to=BOOL)], "flag"), [X, np.int64(1)]
    elif op == "Loop":
        model = loop()
    elif op == "SequenceMap":
        model = mapped()
    elif op == "Scan":
        model, inputs = (scan_8() if opset == 8 else scan()), [TIMES, TIMES[:, 0]]
    else:
        return None
    model.opset_import[0].version = opset
    model.ir_version = 10
    return model, inputs
