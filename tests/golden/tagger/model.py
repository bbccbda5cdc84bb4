# The model of tagger, in PyTorch.
# Source: tagger.onnx, sha256 cd75e88adc73993ff5101b29ae0a925e7e900c640f3c69a9d1a2762c746d6bc5
# Written by migrate 0.1.0.
# Edit freely; regeneration keeps local/.
"""The model tagger."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .config import ModelConfig


# from /l/ConstantOfShape
class Block(nn.Module):
    """LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 4
        self.size2 = 6
        self.lstm1 = nn.LSTM(8, 6, bidirectional=True)
        self.lstm2 = nn.LSTM(12, 6, bidirectional=True)

    def forward(self, x: Tensor) -> Tensor:
        filled = torch.full(
            (self.size, x.shape[0], self.size2), 0.0, dtype=torch.float32, device=x.device
        )
        x, _ = self.lstm1(x.transpose(0, 1), (filled[:2], filled[:2]))
        x, _ = self.lstm2(x, (filled[2:], filled[2:]))
        return x.unflatten(-1, (2, self.size2)).transpose(0, 1).flatten(2)


class Model(nn.Module):
    """Embedding, Block and Linear."""

    def __init__(self, config: ModelConfig = ModelConfig()) -> None:
        super().__init__()
        self.e = nn.Embedding(20, 8)
        self.l = Block()
        self.o = nn.Linear(12, config.num_classes)

    def init_weights(self) -> None:
        """Draw every parameter afresh, as torch's layers do; running statistics begin anew."""
        for module in self.modules():
            if hasattr(module, "reset_parameters"):
                reset: Any = module.reset_parameters
                reset()

    def forward(self, ids: Tensor) -> Tensor:
        """Return the source's output."""
        return self.o(self.l(self.e(ids)))
