"""Cross entropy of a linear classifier by chunks of rows: the logits are never in memory at once.

The gradients are computed with the loss, while a chunk's logits are at hand, so that a step costs the three matrix
products it must. Rows with the ignored target are not computed at all. Device-free: PyTorch operators only.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..registry import REFERENCE
from ..wiring import op_name

CHUNK_ELEMENTS = 1 << 22  # logits of a chunk, 16 MiB in float32; larger ones leave the cache
MIN_ROWS, MAX_ROWS = 128, 512  # fewer rows starve the matrix products, whose cost is then the same again
HALF = (torch.float16, torch.bfloat16)


def chunk_rows(classes: int) -> int:
    """Rows of a chunk for this number of classes."""
    return min(max(CHUNK_ELEMENTS // max(classes, 1), MIN_ROWS), MAX_ROWS)


def _unscaled_gradient(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Overwrite (n, V) logits by `total * (softmax - one_hot(target))`; returns it, total (n, 1) and the summed loss.

    `softmax - one_hot` is the loss's gradient; dividing by `total` is left to the narrow factors of the products.
    """
    at = target.unsqueeze(1)
    logits.sub_(logits.amax(1, keepdim=True))
    shifted = logits.gather(1, at)
    total = logits.exp_().sum(1, keepdim=True)
    return logits.scatter_add_(1, at, -total), total, (total.log() - shifted).sum()


@torch.library.custom_op(op_name("linear_cross_entropy"), mutates_args=())
def chunked(
    x: Tensor,
    weight: Tensor,
    target: Tensor,
    bias: Tensor | None,
    ignore_index: int,
    reduction: str,
    wanted: list[bool],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The loss over rows x (N, D), and its gradients by x, weight and bias; those not `wanted` are empty."""
    exact = torch.float32 if x.dtype in HALF else x.dtype
    kept = (target != ignore_index).nonzero().squeeze(1)
    whole = kept.numel() == target.numel()
    rows, classes = (x, target) if whole else (x[kept], target[kept])
    count = rows.shape[0] if reduction == "mean" else 1
    grad_rows = torch.empty_like(rows) if wanted[0] else rows.new_empty(0)
    grad_weight = torch.zeros_like(weight, dtype=exact) if wanted[1] else weight.new_empty(0)
    grad_bias = weight.new_zeros(weight.shape[:1], dtype=exact) if wanted[2] else weight.new_empty(0)
    loss = torch.zeros((), dtype=exact, device=x.device)
    size, by_row = chunk_rows(weight.shape[0]), weight.t()
    buffer = x.new_empty(
        min(size, rows.shape[0]), weight.shape[0]
    )  # one for all chunks: new ones would fragment the heap
    for at in range(0, rows.shape[0], size):
        part = rows[at : at + size]
        logits = buffer[: part.shape[0]]
        torch.mm(part, by_row, out=logits) if bias is None else torch.addmm(bias, part, by_row, out=logits)
        grad, total, part_loss = _unscaled_gradient(logits.to(exact), classes[at : at + size])
        loss += part_loss
        narrow, scale = grad.to(x.dtype), 1 / (total * count)
        if wanted[0]:
            grad_rows[at : at + size] = (narrow @ weight) * scale
        if wanted[1]:
            _add_product(grad_weight, narrow, (part * scale).to(x.dtype))
        if wanted[2]:
            grad_bias.addmv_(grad.t(), scale.squeeze(1))
    loss /= count
    grad_x = grad_rows if whole or not wanted[0] else torch.zeros_like(x).index_copy_(0, kept, grad_rows)
    return loss, grad_x, grad_weight.to(weight.dtype), grad_bias.to(weight.dtype)


def _add_product(total: Tensor, grad: Tensor, rows: Tensor) -> None:
    """`total += grad^T rows`, in the precision of `total`."""
    if total.dtype == grad.dtype:
        total.addmm_(grad.t(), rows)
    else:
        total += grad.t() @ rows


@chunked.register_fake
def _fake(
    x: Tensor,
    weight: Tensor,
    target: Tensor,
    bias: Tensor | None,
    ignore_index: int,
    reduction: str,
    wanted: list[bool],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    exact = torch.float32 if x.dtype in HALF else x.dtype
    grad_x = torch.empty_like(x) if wanted[0] else x.new_empty(0)
    grad_weight = torch.empty_like(weight) if wanted[1] else weight.new_empty(0)
    return x.new_empty((), dtype=exact), grad_x, grad_weight, weight.new_empty(weight.shape[:1] if wanted[2] else (0,))


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, weight, target, bias, ctx.ignore_index, ctx.reduction, ctx.wanted = inputs
    ctx.save_for_backward(x, weight, target, bias)
    ctx.set_materialize_grads(False)
    ctx.grads = [t.detach() for t in output[1:]]  # detached: the outputs would tie a cycle with their node


def _scaled(grad: Tensor, by: Tensor) -> Tensor:
    """`grad * by`, in place where `grad` is a real tensor: a copy would be as large as the classifier."""
    return grad.mul_(by) if type(grad) is Tensor and not torch.is_grad_enabled() else grad * by


def _backward(ctx: Any, by: Tensor | None, *_: Tensor | None) -> tuple[Any, ...]:
    x, weight, target, bias = ctx.saved_tensors
    if by is None:
        return (None,) * 7
    if torch.is_grad_enabled():  # a gradient of this gradient is wanted, which the saved ones do not have
        grads = _differentiable(ctx, by)
    else:
        kept, ctx.grads = (
            ctx.grads,
            None,
        )  # used up; a second backward over a retained graph computes anew
        ready = kept or chunked(x, weight, target, bias, ctx.ignore_index, ctx.reduction, ctx.wanted)[1:]
        grads = [_scaled(g, by.to(g.dtype)) if w else None for g, w in zip(ready, ctx.wanted, strict=True)]
    return grads[0], grads[1], None, grads[2], None, None, None


def _differentiable(ctx: Any, by: Tensor) -> list[Tensor | None]:
    x, weight, target, bias = ctx.saved_tensors
    loss = REFERENCE["linear_cross_entropy"](x, weight, target, bias, ctx.ignore_index, ctx.reduction)
    wanted = [t for t, w in zip((x, weight, bias), ctx.wanted, strict=True) if w]
    found = iter(torch.autograd.grad(loss, wanted, by, create_graph=True))
    return [next(found) if w else None for w in ctx.wanted]


chunked.register_autograd(_backward, setup_context=_setup_context)


def linear_cross_entropy(
    x: Tensor, weight: Tensor, target: Tensor, bias: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """See `kernels.linear_cross_entropy`; casts under autocast as `linear` does."""
    rows, classes = x.reshape(-1, x.shape[-1]), target.reshape(-1)
    device = x.device.type
    if torch.is_autocast_enabled(device):
        cast = torch.get_autocast_dtype(device)
        rows, weight, bias = rows.to(cast), weight.to(cast), None if bias is None else bias.to(cast)
    recording = torch.is_grad_enabled()
    wanted = [recording and t is not None and t.requires_grad for t in (rows, weight, bias)]
    return chunked(rows, weight, classes, bias, ignore_index, reduction, wanted)[0]
