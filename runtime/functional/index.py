"""Look-ups and writes at places given by the last axis of an index tensor.

Knows nothing of the source a model came from.
"""

from __future__ import annotations

import torch
from torch import Tensor


def gather_nd(x: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """The elements or slices of `x` at the places that the last axis of `indices` names; negative ones count from the end.

    Args:
        x: (*batch, *sizes).
        indices: (*batch, *places, K), K at most the number of `sizes`.
        batch_dims: how many leading axes both share.
    """
    places = indices.unbind(-1)
    rank = indices.dim() - 1
    own = [
        torch.arange(x.shape[i], device=x.device).reshape([-1 if axis == i else 1 for axis in range(rank)])
        for i in range(batch_dims)
    ]
    return x[(*own, *places)]


def scatter_nd(x: Tensor, indices: Tensor, updates: Tensor, reduction: str = "none") -> Tensor:
    """A copy of `x` with `updates` at the places that the last axis of `indices` names.

    Args:
        x: (*sizes).
        indices: (*places, K).
        updates: (*places, *sizes[K:]).
        reduction: `none` writes over, `add`, `mul`, `max` and `min` join with what is there.
    """
    places = indices.unbind(-1)
    if reduction in ("none", "add"):
        return x.index_put(places, updates, accumulate=reduction == "add")
    depth = len(places)
    flat = torch.zeros_like(places[0])
    for place, size in zip(places, x.shape[:depth], strict=True):
        flat = flat * size + torch.where(place < 0, place + size, place)
    rows = x.reshape(-1, *x.shape[depth:])
    width = rows[:1].numel()
    index = flat.reshape(-1, 1).expand(-1, width)
    name = {"mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return rows.reshape(-1, width).scatter_reduce(0, index, updates.reshape(-1, width), name).reshape(x.shape)


def reverse_sequence(x: Tensor, lengths: Tensor, batch_dim: int, time_dim: int) -> Tensor:
    """The first `lengths[i]` places of sample i in reverse order, the places after them as they are."""
    samples = x.movedim((batch_dim, time_dim), (0, 1))
    place = torch.arange(samples.shape[1], device=x.device)
    last = lengths.unsqueeze(1) - 1
    source = torch.where(place <= last, last - place, place)
    rows = torch.arange(samples.shape[0], device=x.device).unsqueeze(1)
    return samples[rows, source].movedim((0, 1), (batch_dim, time_dim))
