"""What a model changes of itself while it runs: averages, counters, code books.

Knows nothing of the source a model came from.
"""

from __future__ import annotations

import torch
from torch import Tensor


@torch.no_grad()
def update(buffer: Tensor, value: Tensor) -> Tensor:
    """Write a new content into a buffer, in place, so that whoever holds it sees it; no gradient goes through."""
    return buffer.copy_(value)


@torch.no_grad()
def count_batch(num_batches: Tensor, training: bool) -> Tensor:
    """Count a batch that a normalisation has seen, while it trains."""
    return num_batches.add_(1) if training else num_batches
