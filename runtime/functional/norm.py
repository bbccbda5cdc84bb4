"""Normalisations that torch has in another form.

Knows nothing of the source a model came from.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def cross_channel_norm(x: Tensor, size: int, alpha: float, beta: float, bias: float) -> Tensor:
    """x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ** beta; x is (N, C, *sizes).

    `F.local_response_norm` puts the odd neighbour of an even `size` before the channel; here it comes after.
    """
    before = (size - 1) // 2
    squares = F.pad(x.square().flatten(2).unsqueeze(1), (0, 0, before, size - 1 - before))
    total = F.avg_pool2d(squares, (size, 1), stride=1).squeeze(1).unflatten(2, x.shape[2:])
    return x / (bias + alpha * total).pow(beta)


def lp_normalize(x: Tensor, p: int, dim: int) -> Tensor:
    """x divided by its p-norm along `dim`; zeros stay zeros, and have no gradient."""
    norm = torch.linalg.vector_norm(x, p, dim, keepdim=True)
    return torch.where(norm == 0, torch.zeros_like(x), x / torch.where(norm == 0, torch.ones_like(norm), norm))
