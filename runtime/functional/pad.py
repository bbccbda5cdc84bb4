"""Padding of any axis of any tensor by reflection, repetition or wrapping, as far as wanted; adding up blocks.

`torch.nn.functional.pad` has these for the last axes only, and at most by the axis's own size; `fold` is for images only.
"""

from __future__ import annotations

import math
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


def add_blocks(
    x: Tensor, sizes: Sequence[int], block: Sequence[int], dilation: Sequence[int], stride: Sequence[int]
) -> Tensor:
    """Blocks added up where they overlap: `F.fold` for any number of axes.

    Args:
        x: (N, C * elements of a block, blocks).
        sizes: of the result, (N, C, *sizes).
        block: size of a block along each axis.
        dilation: distance of a block's elements.
        stride: distance of the blocks.
    """
    flat = torch.zeros((1, 1), dtype=torch.long, device=x.device)
    for size, length, apart, step in zip(sizes, block, dilation, stride, strict=True):
        inner = torch.arange(length, device=x.device) * apart
        begins = torch.arange((size - (length - 1) * apart - 1) // step + 1, device=x.device) * step
        place = inner.unsqueeze(1) + begins
        flat = (flat[:, None, :, None] * size + place[None, :, None, :]).flatten(0, 1).flatten(1, 2)
    elements = math.prod(block)
    made = x.new_zeros(x.shape[0], x.shape[1] // elements, math.prod(sizes))
    return made.index_add(2, flat.reshape(-1), x.reshape(x.shape[0], -1, flat.numel())).unflatten(2, tuple(sizes))
