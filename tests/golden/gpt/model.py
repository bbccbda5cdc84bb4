# The model of gpt, in PyTorch.
# Source: gpt.onnx, sha256 74297ecadcdba7d69cfc6553e78d3ae1aa7cd5d25bbdf393d9ad8690ae575220
# Written by migrate 0.1.0.
# Edit freely; regeneration keeps local/.
"""The model gpt.

Sizes in the comments:
    batch: ids.shape[0]
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


# from /b.0/Reshape
class Block(nn.Module):
    """LayerNorm and Linear; used 2 times."""

    def __init__(self) -> None:
        super().__init__()
        self.n1 = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.o = nn.Linear(16, 16)
        self.n2 = nn.LayerNorm(16)
        self.f1 = nn.Linear(16, 64)
        self.f2 = nn.Linear(64, 16)

    def forward(self, x: Tensor) -> Tensor:
        h = self.qkv(self.n1(x)).reshape(x.shape[0], 8, 3, 2, 8)  # [batch, 8, 3, 2, 8]
        first, second, third = h.permute(2, 0, 3, 1, 4).split(1)  # [1, batch, 2, 8, 8]
        first = first.squeeze(0)  # [batch, 2, 8, 8]
        second = second.squeeze(0)  # [batch, 2, 8, 8]
        third = third.squeeze(0)  # [batch, 2, 8, 8]
        h = F.scaled_dot_product_attention(first, second, third, is_causal=True)
        x = x + self.o(h.permute(0, 2, 1, 3).flatten(2))
        h = F.gelu(self.f1(self.n2(x)))
        return x + self.f2(h)


class Model(nn.Module):
    """Embedding, Block, LayerNorm and Linear."""

    def __init__(self) -> None:
        super().__init__()
        self.e = nn.Embedding(32, 16)
        self.b = nn.Sequential(Block(), Block())
        self.n = nn.LayerNorm(16)
        self.head = nn.Linear(16, 32, bias=False)
        self.bias = nn.Parameter(torch.empty(8, 16))
        self.head.weight = self.e.weight  # one tensor
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the module's own parameters afresh."""
        nn.init.zeros_(self.bias)

    def init_weights(self) -> None:
        """Draw every parameter afresh, as torch's layers do; running statistics begin anew."""
        for module in self.modules():
            if hasattr(module, "reset_parameters"):
                reset: Any = module.reset_parameters
                reset()

    def forward(self, ids: Tensor) -> Tensor:
        """Return the source's output."""
        h = self.n(self.b(self.e(ids) + self.bias))
        return self.head(h)
