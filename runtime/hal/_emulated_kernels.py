"""Operators that an emulated device computes in its own way, each one function.

`COMPUTE` replaces the CPU's kernel (CPU tensors in and out); `SPECIAL` handles placement itself. Knows no profile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ._emulated_tensor import EmulatedTensor

if TYPE_CHECKING:
    from ._emulated_dispatch import Emulator

COMPUTE: dict[str, Callable[..., Any]] = {}
SPECIAL: dict[str, Callable[..., Any]] = {}

aten: Any = torch.ops.aten


def _compute(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        COMPUTE[name] = function
        return function

    return register


def _special(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        SPECIAL.update(dict.fromkeys(names, function))
        return function

    return register


@_special("_to_copy")
def to_copy(emulator: Emulator, args: Any, kwargs: Any, raw_args: list[Any], raw_kwargs: dict[str, Any]) -> Any:
    """A copy, perhaps of another dtype, on either side."""
    was_there, device = type(args[0]) is EmulatedTensor, kwargs.get("device")
    is_there = was_there if device is None else device.type == EmulatedTensor.place.type
    out: Tensor = aten._to_copy.default(*raw_args, **raw_kwargs)
    emulator.move(out.nbytes, crosses=was_there != is_there)
    return emulator.admit("_to_copy", out) if is_there else out


@_special("_local_scalar_dense")
def local_scalar(emulator: Emulator, args: Any, kwargs: Any, raw_args: list[Any], raw_kwargs: dict[str, Any]) -> Any:
    """The number of a tensor of one element, on the host."""
    emulator.move(raw_args[0].nbytes, crosses=True)
    return aten._local_scalar_dense.default(*raw_args)


@_special("copy_")
def copy(emulator: Emulator, args: Any, kwargs: Any, raw_args: list[Any], raw_kwargs: dict[str, Any]) -> Any:
    """Overwrite the first tensor with the second; either may be on the host."""
    aten.copy_.default(*raw_args, **raw_kwargs)
    emulator.move(raw_args[0].nbytes, crosses=type(args[0]) is not type(args[1]))
    return args[0]


@_special("_copy_from", "_copy_from_and_resize")
def copy_from(emulator: Emulator, args: Any, kwargs: Any, raw_args: list[Any], raw_kwargs: dict[str, Any]) -> Any:
    """Overwrite the second tensor with the first; either may be on the host."""
    raw_args[1].copy_(raw_args[0])
    emulator.move(raw_args[1].nbytes, crosses=type(args[0]) is not type(args[1]))
    return args[1]


@_compute("convolution_overrideable")
def convolution(*args: Any) -> Tensor:
    """The name that PyTorch calls a convolution by on devices outside its own source tree."""
    return aten.convolution.default(*args)


@_compute("convolution_backward_overrideable")
def convolution_backward(
    grad: Tensor,
    input: Tensor,
    weight: Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
    output_mask: list[bool],
) -> Any:
    """Gradients of input, weight and bias."""
    bias_sizes = [grad.size(1)] if output_mask[2] else None
    geometry = (stride, padding, dilation, transposed, output_padding, groups)
    return aten.convolution_backward.default(grad, input, weight, bias_sizes, *geometry, output_mask)


def _plus(gates: Tensor, bias: Tensor | None) -> Tensor:
    return gates if bias is None else gates + bias


@_compute("_thnn_fused_lstm_cell")
def lstm_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cell: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """One LSTM step: hidden state, cell state, and the gates for backward, in the CPU's order of additions."""
    gates = _plus(hidden_gates, hidden_bias) + _plus(input_gates, input_bias)
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_cell = f * cell + i * g
    return o * new_cell.tanh(), new_cell, torch.cat([i, f, g, o], 1)


@_compute("_thnn_fused_lstm_cell_backward_impl")
def lstm_cell_backward(
    grad_hidden: Tensor | None, grad_cell: Tensor | None, cell: Tensor, new_cell: Tensor, gates: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of the gates, the old cell state and the bias."""
    i, f, g, o = gates.chunk(4, 1)
    squashed = new_cell.tanh()
    through = torch.zeros_like(new_cell) if grad_cell is None else grad_cell
    grad_o = torch.zeros_like(o)
    if grad_hidden is not None:
        grad_o = grad_hidden * squashed
        through = through + aten.tanh_backward(grad_hidden * o, squashed)
    slopes = [
        aten.sigmoid_backward(through * g, i),
        aten.sigmoid_backward(through * cell, f),
        aten.tanh_backward(through * i, g),
        aten.sigmoid_backward(grad_o, o),
    ]
    grad_gates = torch.cat(slopes, 1)
    return grad_gates, through * f, grad_gates.sum(0) if has_bias else grad_gates.new_empty(0)


@_compute("_thnn_fused_gru_cell")
def gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hidden: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One GRU step: hidden state, and reset, update, new, old state and hidden part for backward."""
    input_r, input_z, input_n = _plus(input_gates, input_bias).chunk(3, 1)
    hidden_r, hidden_z, hidden_n = _plus(hidden_gates, hidden_bias).clone().chunk(3, 1)
    # in place as on the CPU: its kernels round differently on tensors of other strides
    r, z = hidden_r.add_(input_r).sigmoid_(), hidden_z.add_(input_z).sigmoid_()
    kept = hidden_n.clone()
    n = input_n.add(hidden_n.mul_(r)).tanh_()
    return (hidden - n).mul_(z).add_(n), torch.cat([r, z, n, hidden, kept], 1)


@_compute("_thnn_fused_gru_cell_backward")
def gru_cell_backward(grad: Tensor, workspace: Tensor, has_bias: bool) -> tuple[Tensor, ...]:
    """Gradients of input gates, hidden gates, the old state and both biases."""
    r, z, n, hidden, hidden_n = workspace.chunk(5, 1)
    grad_n = aten.tanh_backward(grad - grad * z, n)
    grad_z = aten.sigmoid_backward(grad * (hidden - n), z)
    grad_r = aten.sigmoid_backward(grad_n * hidden_n, r)
    grad_input = torch.cat([grad_r, grad_z, grad_n], 1)
    grad_gates = torch.cat([grad_r, grad_z, grad_n * r], 1)
    none = grad.new_empty(0)
    biases = (grad_input.sum(0), grad_gates.sum(0)) if has_bias else (none, none)
    return grad_input, grad_gates, grad * z, *biases
