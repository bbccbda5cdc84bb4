"""Whether the emitted module computes what the source's own engine computes, in process."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import torch

import migrate
from migrate.frontends.onnx.oracle import OnnxOracle
from migrate.graph import Dim, Graph, Value

TOLERANCE = 1e-4


def draw(graph: Graph, value: Value, batch: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Numbers for an input; free sizes but the batch take their first sample."""
    shape = [
        batch if size == graph.batch else size.values[0] if isinstance(size, Dim) else size for size in value.shape
    ]
    if value.dtype.startswith("float"):
        return rng.standard_normal(shape).astype(value.dtype)
    return rng.integers(0, 3, shape).astype(value.dtype)


def agree(model: onnx.ModelProto, batches: tuple[int, ...] = (2, 3, 5)) -> tuple[Graph, torch.nn.Module]:
    """Hold the emitted module in evaluation against the engine; the graph and the module, for what else is to be seen."""
    graph, module = migrate.load(model), migrate.to_module(model).eval()
    oracle = OnnxOracle(model, graph)
    for batch in batches:
        rng = np.random.default_rng(batch)
        inputs = [draw(graph, value, batch, rng) for value in graph.inputs]
        wanted = oracle.run(inputs)
        made = module(*(torch.from_numpy(array.copy()) for array in inputs))
        outputs = made if isinstance(made, tuple) else (made,)
        for got, want in zip(outputs, wanted, strict=True):
            assert tuple(got.shape) == want.shape
            np.testing.assert_allclose(got.detach().numpy(), want, rtol=TOLERANCE, atol=TOLERANCE)
    return graph, module
