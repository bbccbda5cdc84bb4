"""Pooling with any padding: begins and ends that differ, averages over the part of a window that holds data.

Knows nothing of the source a model came from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


def window_mean(x: Tensor, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Tensor:
    """The mean of each window of `x` (N, C, *sizes), without padding."""
    rank = len(kernel)
    if all(step == 1 for step in dilation):
        pool = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[rank - 1]
        return pool(x, tuple(kernel), tuple(stride))
    conv = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    ones = torch.full((1, 1, *kernel), 1 / math.prod(kernel), dtype=x.dtype, device=x.device)
    mean = conv(x.flatten(0, 1).unsqueeze(1), ones, stride=tuple(stride), dilation=tuple(dilation))
    return mean.squeeze(1).unflatten(0, x.shape[:2])


def padded_avg_pool(
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    pads: Sequence[int],
    beyond: Sequence[int],
    dilation: Sequence[int],
    count_include_pad: bool,
) -> Tensor:
    """The mean of each window over the elements that count.

    Args:
        x: (N, C, *sizes).
        kernel: window size of each axis.
        stride: step of each axis.
        pads: padding in the order of `F.pad`; counted where `count_include_pad`.
        beyond: further padding in the same order, never counted: what a last, incomplete window reaches over.
        dilation: distance of the window's elements.
        count_include_pad: whether `pads` counts as data.
    """
    around = [a + b for a, b in zip(pads, beyond, strict=True)]
    counted = F.pad(torch.ones_like(x[:1, :1]), list(pads), value=1.0 if count_include_pad else 0.0)
    share = window_mean(F.pad(counted, list(beyond)), kernel, stride, dilation)
    return window_mean(F.pad(x, around), kernel, stride, dilation) / share


def lp_pool(
    x: Tensor,
    p: float,
    kernel: Sequence[int],
    stride: Sequence[int],
    pads: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:
    """The p-norm of each window of absolute values, zeros around; `pads` in the order of `F.pad`."""
    powers = F.pad(x.abs().pow(p), list(pads))
    return (window_mean(powers, kernel, stride, dilation) * math.prod(kernel)).pow(1 / p)
