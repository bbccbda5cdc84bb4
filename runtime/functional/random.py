"""What is drawn anew at every call, or at every step of training."""

from __future__ import annotations

import torch
from torch import Tensor


def drop_path(x: Tensor, p: float, training: bool, each: bool = True, scaled: bool = True) -> Tensor:
    """Stochastic depth (Huang et al., 2016): with probability `p` a sample's branch is zero while training.

    Args:
        x: [batch, ...]
        p: the probability of dropping.
        training: off where false.
        each: every sample is drawn for itself; otherwise the whole batch is one draw.
        scaled: what stays is divided by `1 - p`, so that the mean does not change.
    """
    if not training or p == 0.0:
        return x
    keep = 1.0 - p
    mask = x.new_empty((x.shape[0] if each else 1, *[1] * (x.dim() - 1))).bernoulli_(keep)
    return x * (mask / keep if scaled and keep > 0.0 else mask)


def exponential(like: Tensor, rate: float = 1.0) -> Tensor:
    """Numbers drawn from an exponential distribution, as `Tensor.exponential_` draws them.

    Args:
        like: gives shape, dtype and device.
        rate: the reciprocal of the mean.
    """
    return torch.empty_like(like).exponential_(rate)
