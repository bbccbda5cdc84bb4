"""Cross entropy of a linear classifier, with all logits in memory. Knows no device."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


def linear_cross_entropy(
    x: Tensor, weight: Tensor, target: Tensor, bias: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """See `kernels.linear_cross_entropy`."""
    logits = F.linear(x.reshape(-1, x.shape[-1]), weight, bias)  # (N, V)
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    return F.cross_entropy(logits, target.reshape(-1), ignore_index=ignore_index, reduction=reduction)


def draw(args: list[Any], generator: torch.Generator) -> list[Any]:
    """Give the sample classes to find, every eighth row ignored, and logits of a usual spread."""
    x, weight, target, bias, ignore_index, reduction = args
    target = torch.randint(0, weight.shape[0], target.shape, generator=generator)
    target.view(-1)[7::8] = ignore_index
    return [x, weight * weight.shape[1] ** -0.5, target, bias, ignore_index, reduction]
