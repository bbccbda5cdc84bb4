"""Builds the optimizer: which parameters are decayed, and by which rule all are updated. Knows no device."""

from __future__ import annotations

from collections import defaultdict
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..kernels import FusedAdamW
from ..package import PackageError
from .schedule import set_lr
from .settings import OptimizerSettings

_NORMS = (
    nn.modules.batchnorm._NormBase,
    nn.LayerNorm,
    nn.GroupNorm,
    nn.RMSNorm,
)


def _is_vector(parameter: Tensor) -> bool:
    """Biases and scales, also where they are stored with axes of size one, as in [1, C, 1, 1]."""
    return parameter.numel() == max(parameter.shape, default=1)


def parameter_groups(model: nn.Module, settings: OptimizerSettings) -> list[dict[str, Any]]:
    """Groups of `(name, parameter)` pairs: those of the settings, then decayed weights, then what is not decayed.

    A parameter belongs to the first group that has a pattern of its name.

    Raises:
        PackageError: nothing is trainable, or a pattern matches nothing.
    """
    norms = {id(p) for m in model.modules() if isinstance(m, _NORMS) for p in m.parameters(recurse=False)}
    named: list[dict[str, Any]] = [
        {"params": [], "lr_ratio": g.lr_ratio, "weight_decay": g.weight_decay} for g in settings.groups
    ]
    decayed: dict[str, Any] = {"params": [], "weight_decay": settings.weight_decay}
    free: dict[str, Any] = {"params": [], "weight_decay": 0.0}
    aliases: defaultdict[int, list[str]] = defaultdict(list)  # of one that is tied
    for name, parameter in model.named_parameters(remove_duplicate=False):
        aliases[id(parameter)].append(name)
    idle = {pattern for g in settings.groups for pattern in g.parameters}
    for name, parameter in model.named_parameters():
        names = aliases[id(parameter)]
        matching = [[p for p in g.parameters if any(fnmatchcase(n, p) for n in names)] for g in settings.groups]
        idle -= {pattern for patterns in matching for pattern in patterns}
        if not parameter.requires_grad:
            continue
        exempt = id(parameter) in norms or _is_vector(parameter) or name.rpartition(".")[2].startswith("bias")
        rest = free if exempt and settings.decayed == "weights" else decayed
        group = next((g for g, found in zip(named, matching, strict=True) if found), rest)
        group["params"].append((name, parameter))
    if idle:
        raise PackageError(f"optimizer.groups: no parameter is called {min(idle)!r}")
    groups = [group for group in (*named, decayed, free) if group["params"]]
    if not groups:
        raise PackageError("the model has no trainable parameter; see --trainable of the conversion")
    return groups


def build_optimizer(model: nn.Module, settings: OptimizerSettings) -> Optimizer:
    """The one place that decides which optimizer implementation runs."""
    groups = parameter_groups(model, settings)
    if settings.name == "sgd":
        momentum, dampening, nesterov = settings.momentum, settings.dampening, settings.nesterov
        optimizer = torch.optim.SGD(groups, lr=settings.lr, momentum=momentum, dampening=dampening, nesterov=nesterov)
    elif settings.name == "adam":
        optimizer = torch.optim.Adam(groups, lr=settings.lr, betas=settings.betas, eps=settings.eps)
    else:
        optimizer = FusedAdamW(groups, lr=settings.lr, betas=settings.betas, eps=settings.eps)
    set_lr(optimizer, settings.lr)
    return optimizer
