"""Padding of any axis of any tensor by reflection, repetition or wrapping, as far as wanted.

`torch.nn.functional.pad` has these for the last axes only, and at most by the axis's own size.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def pad_axes(x: Tensor, pads: Sequence[int], mode: str) -> Tensor:
    """Pad the last `len(pads) // 2` axes.

    Args:
        x: the tensor.
        pads: begin and end of each axis, last axis first, as `F.pad` has them; negative ones cut.
        mode: `reflect`, `edge` or `wrap`.
    """
    for i in range(len(pads) // 2):
        begin, end = pads[2 * i], pads[2 * i + 1]
        if begin or end:
            dim = x.dim() - 1 - i
            x = x.index_select(dim, source_places(x.shape[dim], begin, end, mode, x.device))
    return x


def source_places(size: int, begin: int, end: int, mode: str, device: torch.device) -> Tensor:
    """For each element of the padded axis the element it repeats."""
    place = torch.arange(-begin, size + end, device=device)
    if mode == "edge":
        return place.clamp(0, size - 1)
    if mode == "wrap":
        return place.remainder(size)
    period = max(2 * (size - 1), 1)
    place = place.remainder(period)
    return torch.minimum(place, period - place) if size > 1 else torch.zeros_like(place)
