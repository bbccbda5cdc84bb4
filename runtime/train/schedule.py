"""The learning rate as a function of the step, so that it has no state. Knows no model and no device."""

from __future__ import annotations

import math

from torch.optim import Optimizer

from .settings import ScheduleSettings


def lr_factor(step: int, settings: ScheduleSettings, decay_steps: int) -> float:
    """What the base learning rate is multiplied by at `step` (from 0).

    Linear warm-up to 1 over `warmup_steps`, then constant, or a cosine that reaches `min_lr_ratio` with the last of
    `decay_steps` steps and stays there.
    """
    warmup = settings.warmup_steps
    if step < warmup:
        return (step + 1) / warmup
    if settings.name == "constant":
        return 1.0
    progress = min(1.0, (step - warmup) / max(1, decay_steps - 1 - warmup))
    return settings.min_lr_ratio + (1.0 - settings.min_lr_ratio) * 0.5 * (1.0 + math.cos(math.pi * progress))


def set_lr(optimizer: Optimizer, lr: float) -> None:
    """Give all parameter groups the learning rate `lr`."""
    for group in optimizer.param_groups:
        group["lr"] = lr
