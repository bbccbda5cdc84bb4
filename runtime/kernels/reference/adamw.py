"""One AdamW step as `torch.optim.AdamW` does it by default. Knows no device."""

from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam


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
    """See `kernels.adamw`."""
    adam(
        params,
        grads,
        exp_avgs,
        exp_avg_sqs,
        [],
        steps,
        amsgrad=False,
        beta1=beta1,
        beta2=beta2,
        lr=lr,
        weight_decay=weight_decay,
        eps=eps,
        maximize=False,
        decoupled_weight_decay=True,
    )


def draw(args: list[Any], generator: torch.Generator) -> list[Any]:
    """Second moments are squares, and steps are counts."""
    params, grads, exp_avgs, exp_avg_sqs, steps, *numbers = args
    squares = [t.abs() + 1e-3 for t in exp_avg_sqs]
    counts = [torch.full_like(t, 10 + index % 3) for index, t in enumerate(steps)]
    return [params, grads, exp_avgs, squares, counts, *numbers]
