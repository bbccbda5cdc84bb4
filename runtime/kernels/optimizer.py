"""AdamW whose step is one call of `kernels.adamw`. Knows no training loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from .api import adamw


class FusedAdamW(torch.optim.AdamW):
    """`torch.optim.AdamW` with the same state and arguments; its `state_dict` and that of its base are interchangeable.

    Without a proved kernel its numbers are those of `torch.optim.AdamW`, to the bit.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns the closure's loss, if there is one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._step_group(group)
        return loss

    def _step_group(self, group: dict[str, Any]) -> None:
        lists: tuple[list[Tensor], ...] = ([], [], [], [], [], [])
        params, grads, exp_avgs, exp_avg_sqs, unused, steps = lists
        if self._init_group(group, params, grads, exp_avgs, exp_avg_sqs, unused, steps):
            raise TypeError("FusedAdamW: complex parameters are not supported; use torch.optim.AdamW")
        if not params:
            return
        beta1, beta2 = group["betas"]
        adamw(
            params,
            grads,
            exp_avgs,
            exp_avg_sqs,
            steps,
            lr=float(group["lr"]),
            beta1=beta1,
            beta2=beta2,
            eps=group["eps"],
            weight_decay=group["weight_decay"],
        )


def fused_adamw(
    params: ParamsT,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
) -> FusedAdamW:
    """An AdamW optimizer over tensors or parameter groups, with the defaults of `torch.optim.AdamW`."""
    return FusedAdamW(params, lr, betas, eps, weight_decay)
