"""Builds the optimizer: which parameters are decayed, and by which rule all are updated. Knows no device."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..kernels import FusedAdamW
from ..package import PackageError
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


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Two groups of `(name, parameter)` pairs: decayed weights, and norms, biases and scales, which are not decayed.

    Raises:
        PackageError: nothing is trainable.
    """
    norms = {id(p) for m in model.modules() if isinstance(m, _NORMS) for p in m.parameters(recurse=False)}
    decayed: list[tuple[str, Tensor]] = []
    free: list[tuple[str, Tensor]] = []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            exempt = id(parameter) in norms or _is_vector(parameter) or name.rpartition(".")[2].startswith("bias")
            (free if exempt else decayed).append((name, parameter))
    if not decayed and not free:
        raise PackageError("the model has no trainable parameter; see --trainable of the conversion")
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": free, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def build_optimizer(model: nn.Module, settings: OptimizerSettings) -> Optimizer:
    """The one place that decides which optimizer implementation runs."""
    groups = parameter_groups(model, settings.weight_decay)
    if settings.name == "sgd":
        return torch.optim.SGD(groups, lr=settings.lr, momentum=settings.momentum)
    return FusedAdamW(groups, lr=settings.lr, betas=settings.betas, eps=settings.eps)
