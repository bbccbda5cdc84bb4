"""PyTorch's own fused AdamW operator: one pass where the device has it."""

import torch
from torch import Tensor

from ..registry import REFERENCE

FUSED_DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def adamw(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    steps: list[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
) -> None:
    """See `kernels.adamw`; steps elsewhere than the parameters, other dtypes or strided state go to the reference."""
    state = (params, grads, exp_avgs, exp_avg_sqs)
    first = params[0]
    dense = all(t.is_contiguous() and t.dtype == first.dtype and t.device == first.device for ts in state for t in ts)
    if not dense or first.dtype not in FUSED_DTYPES or any(t.device != first.device for t in steps):
        REFERENCE["adamw"](*state, steps, lr, beta1, beta2, eps, weight_decay)
        return
    torch._foreach_add_(steps, 1)
    torch._fused_adamw_(
        *state,
        [],
        steps,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        weight_decay=weight_decay,
        eps=eps,
        amsgrad=False,
        maximize=False,
    )
