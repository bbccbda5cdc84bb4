"""The learning rate as a function of the step, so that it has no state. Knows no model and no device."""

from __future__ import annotations

import math

from torch.optim import Optimizer

from .settings import ScheduleSettings


def lr_factor(step: int, settings: ScheduleSettings, decay_steps: int) -> float:
    """What the base learning rate is multiplied by at `step` (from 0).

    Linear warm-up from `warmup_from` to 1 over `warmup_steps`. Then constant, or a cosine or line that reaches
    `min_lr_ratio` with the last of `decay_steps` steps and stays there, or `gamma` once more after every `step_size` steps
    ("step") or each of the `milestones`.
    """
    warmup = settings.warmup_steps
    if step < warmup:
        return settings.warmup_from + (1.0 - settings.warmup_from) * step / warmup
    since = step - warmup
    if settings.name == "constant":
        return 1.0
    if settings.name == "step":
        return settings.gamma ** (since // settings.step_size)
    if settings.name == "multistep":
        return settings.gamma ** sum(milestone <= since for milestone in settings.milestones)
    progress = min(1.0, since / max(1, decay_steps - 1 - warmup))
    left = 1.0 - progress if settings.name == "linear" else 0.5 * (1.0 + math.cos(math.pi * progress))
    return settings.min_lr_ratio + (1.0 - settings.min_lr_ratio) * left


def set_lr(optimizer: Optimizer, lr: float) -> None:
    """Give each parameter group the learning rate `lr`, times its own ratio."""
    for group in optimizer.param_groups:
        group["lr"] = lr * group.get("lr_ratio", 1.0)
