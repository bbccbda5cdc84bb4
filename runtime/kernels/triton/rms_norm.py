"""RMS normalisation with one program a row. Untested on hardware; checked by Triton's interpreter.

The weight's gradient is summed over fixed groups of rows by a program each and then over the groups, without atomics, so that
it is the same in every run.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportIndexIssue=false

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..registry import REFERENCE
from ..wiring import op_name
from ._driver import unavailable

__all__ = ["rms_norm", "unavailable"]

MAX_FEATURES = 16384  # a row is one block: 64 KiB in float32
ROWS = 32  # rows whose weight gradient one program sums


@triton.jit
def _forward(x_ptr, weight_ptr, out_ptr, scale_ptr, features, eps, BLOCK: tl.constexpr):  # noqa: N803
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < features
    x = tl.load(x_ptr + row * features + at, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + at, mask=inside, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / features + eps)
    tl.store(scale_ptr + row, scale)
    tl.store(out_ptr + row * features + at, (x * scale * weight).to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _backward(
    grad_ptr,
    x_ptr,
    weight_ptr,
    scale_ptr,
    grad_x_ptr,
    partial_ptr,
    rows,
    features,
    ROWS: tl.constexpr,  # noqa: N803
    BLOCK: tl.constexpr,  # noqa: N803
):
    group = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < features
    weight = tl.load(weight_ptr + at, mask=inside, other=0.0).to(tl.float32)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for step in range(ROWS):
        row = group * ROWS + step
        there = inside & (row < rows)
        x = tl.load(x_ptr + row * features + at, mask=there, other=0.0).to(tl.float32)
        grad = tl.load(grad_ptr + row * features + at, mask=there, other=0.0).to(tl.float32)
        scale = tl.load(scale_ptr + row, mask=row < rows, other=0.0)
        unit = x * scale
        scaled = grad * weight
        grad_x = scale * (scaled - unit * (tl.sum(scaled * unit, axis=0) / features))
        tl.store(grad_x_ptr + row * features + at, grad_x.to(grad_x_ptr.dtype.element_ty), mask=there)
        total += grad * unit
    tl.store(partial_ptr + group * features + at, total, mask=inside)


@torch.library.custom_op(op_name("rms_norm"), mutates_args=())
def fused(x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """The normalised rows of x (N, D), and each row's 1 / root mean square (N,) in float32."""
    x, weight = x.contiguous(), weight.contiguous()
    out, scale = torch.empty_like(x), x.new_empty(x.shape[0], dtype=torch.float32)
    if x.numel():
        block = triton.next_power_of_2(x.shape[1])
        _forward[(x.shape[0],)](x, weight, out, scale, x.shape[1], eps, BLOCK=block)
    return out, scale


@fused.register_fake
def _fake(x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape), x.new_empty(x.shape[0], dtype=torch.float32)


@torch.library.custom_op(op_name("rms_norm_backward"), mutates_args=())
def fused_backward(grad: Tensor, x: Tensor, weight: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients by x and weight."""
    grad, x, weight = grad.contiguous(), x.contiguous(), weight.contiguous()
    rows, features = x.shape
    groups = triton.cdiv(rows, ROWS)
    grad_x, partial = torch.empty_like(x), x.new_empty(groups, features, dtype=torch.float32)
    if x.numel():
        block = triton.next_power_of_2(features)
        _backward[(groups,)](grad, x, weight, scale, grad_x, partial, rows, features, ROWS=ROWS, BLOCK=block)
    return grad_x, partial.sum(0).to(weight.dtype)


@fused_backward.register_fake
def _fake_backward(grad: Tensor, x: Tensor, weight: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape), weight.new_empty(weight.shape)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    x, weight, _ = inputs
    ctx.save_for_backward(x, weight, output[1])


def _gradients(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None]:
    return *fused_backward(grad, *ctx.saved_tensors), None


fused.register_autograd(_gradients, setup_context=_setup_context)


def rms_norm(x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    """See `kernels.rms_norm`; without a weight, in float64 or for very long rows the reference runs."""
    if weight is None or x.shape[-1] > MAX_FEATURES or x.dtype == torch.float64:
        return REFERENCE["rms_norm"](x, weight, eps)
    return fused(x.reshape(-1, x.shape[-1]), weight.to(x.dtype), eps)[0].view(x.shape)
