"""The code that is written for a small model, in memory: what the case tables and ONNX's node suite run.

A float beside the model goes through each, because what has no float to train or no input is no package.
"""

from __future__ import annotations

from typing import Any

import onnx
import torch
from onnx import helper

from migrate.codegen import to_module
from migrate.frontends.onnx import load_onnx
from migrate.graph.passes import run_passes

BESIDE = "beside_the_model"


def with_float_beside(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy that negates one more input into one more output."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    if not any(used.domain in ("", "ai.onnx") for used in made.opset_import):
        made.opset_import.append(helper.make_opsetid("", 17))
    made.graph.input.append(helper.make_tensor_value_info(BESIDE, onnx.TensorProto.FLOAT, [2]))
    made.graph.output.append(helper.make_tensor_value_info(f"{BESIDE}_negated", onnx.TensorProto.FLOAT, [2]))
    made.graph.node.append(helper.make_node("Neg", [BESIDE], [f"{BESIDE}_negated"], name=BESIDE))
    return made


class Emitted:
    """The emitted module of a model, called with the model's own inputs."""

    def __init__(self, model: onnx.ModelProto, shapes: dict[str, tuple[int, ...]]) -> None:
        graph = load_onnx(with_float_beside(model), input_shapes={**shapes, BESIDE: (2,)})
        run_passes(graph)
        self.module: Any = to_module(graph).eval()

    def __call__(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Every output of the model."""
        beside = torch.ones(2)
        *outputs, negated = self.module(*inputs, beside)
        assert torch.equal(negated, -beside)
        return tuple(outputs)

    def in_float64(self) -> Emitted:
        """Itself, its parameters and buffers widened; none of them wants a gradient."""
        self.module.double().requires_grad_(False)
        return self
