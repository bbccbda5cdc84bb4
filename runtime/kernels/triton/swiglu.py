"""`silu(gate) * up` in one pass, and both gradients in one pass. Untested on hardware; checked by Triton's interpreter."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportIndexIssue=false

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..wiring import op_name
from ._driver import unavailable

__all__ = ["swiglu", "unavailable"]

BLOCK = 1024


@triton.jit
def _forward(gate_ptr, up_ptr, out_ptr, size, BLOCK: tl.constexpr):  # noqa: N803 - Triton's custom for constants
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    gate = tl.load(gate_ptr + at, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + at, mask=inside, other=0.0).to(tl.float32)
    out = gate * tl.sigmoid(gate) * up
    tl.store(out_ptr + at, out.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _backward(grad_ptr, gate_ptr, up_ptr, grad_gate_ptr, grad_up_ptr, size, BLOCK: tl.constexpr):  # noqa: N803
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    grad = tl.load(grad_ptr + at, mask=inside, other=0.0).to(tl.float32)
    gate = tl.load(gate_ptr + at, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + at, mask=inside, other=0.0).to(tl.float32)
    gated = tl.sigmoid(gate)
    silu = gate * gated
    grad_gate = grad * up * (gated + silu * (1.0 - gated))
    tl.store(grad_gate_ptr + at, grad_gate.to(grad_gate_ptr.dtype.element_ty), mask=inside)
    tl.store(grad_up_ptr + at, (grad * silu).to(grad_up_ptr.dtype.element_ty), mask=inside)


@torch.library.custom_op(op_name("swiglu"), mutates_args=())
def fused(gate: Tensor, up: Tensor) -> Tensor:
    """The product, for tensors of one shape and dtype."""
    gate, up = gate.contiguous(), up.contiguous()
    out = torch.empty_like(gate)
    if size := gate.numel():
        _forward[(triton.cdiv(size, BLOCK),)](gate, up, out, size, BLOCK=BLOCK)
    return out


@fused.register_fake
def _fake(gate: Tensor, up: Tensor) -> Tensor:
    return torch.empty_like(gate, memory_format=torch.contiguous_format)


@torch.library.custom_op(op_name("swiglu_backward"), mutates_args=())
def fused_backward(grad: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients by gate and up."""
    grad, gate, up = grad.contiguous(), gate.contiguous(), up.contiguous()
    grad_gate, grad_up = torch.empty_like(gate), torch.empty_like(up)
    if size := gate.numel():
        _backward[(triton.cdiv(size, BLOCK),)](grad, gate, up, grad_gate, grad_up, size, BLOCK=BLOCK)
    return grad_gate, grad_up


@fused_backward.register_fake
def _fake_backward(grad: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    return _fake(gate, up), _fake(up, gate)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


fused.register_autograd(lambda ctx, grad: fused_backward(grad, *ctx.saved_tensors), setup_context=_setup_context)


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """See `kernels.swiglu`."""
    if gate.shape != up.shape or gate.dtype != up.dtype:
        raise TypeError(f"gate is {gate.shape} {gate.dtype}, up is {up.shape} {up.dtype}: expected the same")
    return fused(gate, up)
