"""Products of groups of rows with a matrix each, as mixtures of experts compute them."""

from __future__ import annotations

import torch
from torch import Tensor


def grouped_mm(x: Tensor, weight: Tensor, ends: Tensor) -> Tensor:
    """Each group of rows times the matrix of its place; rows after the last group give zeros.

    Args:
        x: [rows, in], the rows of a group side by side.
        weight: [groups, in, out]
        ends: [groups] of integers, where each group ends; read on the host.

    Returns:
        [rows, out]
    """
    bounds = [0, *ends.tolist()]
    parts = [x[start:end] @ matrix for start, end, matrix in zip(bounds, bounds[1:], weight, strict=False)]
    rest = x.new_zeros(x.shape[0] - bounds[-1], weight.shape[2])
    return torch.cat([*parts, rest])
