"""Rotary position embedding. Knows no device."""

import torch
from torch import Tensor


def rope(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    """See `kernels.rope`."""
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1) if interleaved else x.chunk(2, -1)  # (..., S, D/2) each
    pair = (a * cos - b * sin, b * cos + a * sin)
    rotated = torch.stack(pair, -1).flatten(-2) if interleaved else torch.cat(pair, -1)
    return rotated.to(x.dtype)
