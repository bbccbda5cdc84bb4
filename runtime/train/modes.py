"""Puts a model into training mode, with or without what makes runs differ: statistics and dropout. Knows no device."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from .settings import TrainSettings


def _switch_dropout_off(module: nn.Module) -> None:
    if isinstance(module, _DropoutNd):
        module.eval()
    elif isinstance(module, nn.RNNBase | nn.MultiheadAttention):
        module.dropout = 0.0


def set_training_mode(model: nn.Module, settings: TrainSettings) -> None:
    """`model.train()`, with running statistics frozen and dropout off where the settings say so."""
    model.train()
    for module in model.modules():
        if settings.freeze_statistics and isinstance(module, _NormBase) and module.track_running_stats:
            module.eval()
        if not settings.dropout:
            _switch_dropout_off(module)
