"""The real files, end to end through the frontend: the interpreted graph against ONNX Runtime, at batches of 2 and 3."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from migrate.frontends.onnx import load_onnx
from migrate.graph import Dim, Graph, interpret
from tests.models import NAMES, model_path

TOLERANCE = 1e-4  # of the largest element
NUMBERS = {"height": 64, "width": 96}
SIZES = {"ppocr_rec": {"width": 160}, "ppocr_cls": {"height": 48, "width": 192}}


def shape_of(graph: Graph, value, batch: int, name: str) -> list[int]:
    """The input's shape with every free size given a number."""
    sizes = []
    for size in value.shape:
        if not isinstance(size, Dim):
            sizes.append(size)
        elif size == graph.batch:
            sizes.append(batch)
        else:
            sizes.append(SIZES.get(name, {}).get(size.expr.name, NUMBERS[size.expr.name]))
    return sizes


def with_logits(path: str, graph: Graph) -> onnx.ModelProto:
    """The source and the graph with the logits as outputs where an output is a sigmoid or softmax, which saturate."""
    model = onnx.load(path)
    producers = {name: node for node in model.graph.node for name in node.output}
    for i, output in enumerate(model.graph.output):
        node = producers[output.name]
        while node.op_type == "Identity":
            node = producers[node.input[0]]
        if node.op_type in ("Sigmoid", "Softmax"):
            made = graph.outputs[i].node
            assert made is not None and made.op.name == node.op_type.lower()
            graph.outputs[i] = made.args[0]
            output.name = node.input[0]
            output.type.ClearField("tensor_type")
            output.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return model


def run_source(model: onnx.ModelProto, feeds: dict[str, np.ndarray], batch: int) -> list[np.ndarray]:
    """ONNX Runtime's outputs, sample by sample where the source has a fixed batch of 1."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    declared = session.get_inputs()[0].shape[0]
    if not isinstance(declared, int):
        return session.run(None, feeds)
    assert declared == 1
    parts = [session.run(None, {k: v[i : i + 1] for k, v in feeds.items()}) for i in range(batch)]
    return [np.concatenate(group) for group in zip(*parts, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("batch", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_those_of_the_source(name: str, batch: int) -> None:
    path = model_path(name)
    graph = load_onnx(path)
    assert graph.batch is not None
    model = with_logits(str(path), graph)
    rng = np.random.default_rng(0)
    shapes = {v.name: shape_of(graph, v, batch, name) for v in graph.inputs}
    feeds = {n: rng.standard_normal(s, dtype=np.float32) for n, s in shapes.items()}
    with torch.no_grad():
        outputs = interpret(graph, *(torch.from_numpy(feeds[v.name]) for v in graph.inputs))
    expected = run_source(model, feeds, batch)
    for got, want in zip(outputs, expected, strict=True):
        assert tuple(got.shape) == want.shape
        assert np.isfinite(want).all()
        assert np.abs(got.numpy() - want).max() <= TOLERANCE * np.abs(want).max()
