"""Shape rules for operators of accelerators that torch itself gives none, so that a step with them can be traced.

Shapes are those of torch's CUDA kernels (`aten/src/ATen/native/cuda/RNN.cu`). Must not know targets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

GRU_GATES = 3
# What the cell keeps for backward: reset, update and new gate, the hidden state, and the hidden part of the new gate.
GRU_WORKSPACE = 5


def gru_cell(
    input_gates: Tensor, hidden_gates: Tensor, hx: Tensor, input_bias: Any = None, hidden_bias: Any = None
) -> tuple[Tensor, Tensor]:
    """`_thnn_fused_gru_cell`: gates (batch, 3 hidden), state (batch, hidden) -> state, workspace."""
    return torch.empty_like(hx), hx.new_empty((hx.shape[0], GRU_WORKSPACE * hx.shape[1]))


def gru_cell_backward(
    grad_hy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    """`_thnn_fused_gru_cell_backward`: gradients of both gates, of the state, and of both biases."""
    batch, hidden = grad_hy.shape
    gates, other = (workspace.new_empty((batch, GRU_GATES * hidden)) for _ in range(2))
    biases = [workspace.new_empty((GRU_GATES * hidden,)) if has_bias else None for _ in range(2)]
    return gates, other, torch.empty_like(grad_hy), biases[0], biases[1]


def convolution(*arguments: Any) -> Tensor:
    """`convolution_overrideable`: as the convolution that it stands for."""
    return torch.ops.aten.convolution.default(*arguments)


def convolution_backward(grad: Tensor, x: Tensor, weight: Tensor, *rest: Any) -> tuple[Tensor | None, ...]:
    """`convolution_backward_overrideable`, whose bias has as many elements as the output has channels."""
    return torch.ops.aten.convolution_backward.default(grad, x, weight, [grad.shape[1]], *rest)


def in_place(*_: Any) -> None:
    """An operator that writes into its arguments and returns nothing."""


RULES: dict[str, Callable[..., Any]] = {
    "_thnn_fused_gru_cell": gru_cell,
    "_thnn_fused_gru_cell_backward": gru_cell_backward,
    "convolution_overrideable": convolution,
    "convolution_backward_overrideable": convolution_backward,
    "_cummax_helper": in_place,
    "_cummin_helper": in_place,
}


def register_shapes() -> torch.library.Library:
    """Registers the rules; the library must be kept alive."""
    library = torch.library.Library("aten", "IMPL")
    for name, rule in RULES.items():
        library.impl(name, rule, "Meta")
    return library
