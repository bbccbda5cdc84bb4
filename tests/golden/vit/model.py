# The model of vit, in PyTorch.
# Source: ViT, sha256 eeccc9b93dac3d354360e34469b239a56772ebadd87543377a17adc79a074eb1
# Written by migrate 0.1.0.
# Edit freely; regeneration keeps local/.
"""The model vit.

Sizes in the comments:
    batch: image.shape[0]
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .config import ModelConfig


# from EncoderBlock
class EncoderBlock(nn.Module):
    """LayerNorm, MultiheadAttention, Dropout and 2 more; used 4 times."""

    def __init__(self, hidden_size: int, *, dropout: float) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(hidden_size)
        self.self_attention = nn.MultiheadAttention(hidden_size, 3, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = nn.LayerNorm(hidden_size)
        self.mlp = nn.Sequential(
            nn.Linear(hidden_size, 2 * hidden_size),
            nn.GELU(),
            nn.Linear(2 * hidden_size, hidden_size),
            nn.Dropout(dropout),
        )

    def forward(self, x: Tensor) -> Tensor:
        h = self.ln_1(x)
        x = x + self.dropout(self.self_attention(h, h, h, need_weights=False)[0])
        return x + self.mlp(self.ln_2(x))


# from ViT
class Model(nn.Module):
    """Conv2d, EncoderBlock, LayerNorm and Linear."""

    def __init__(self, config: ModelConfig = ModelConfig()) -> None:
        super().__init__()
        self.conv_proj = nn.Conv2d(3, config.hidden_size, kernel_size=4, stride=4)
        self.layers = nn.Sequential(
            *(
                EncoderBlock(config.hidden_size, dropout=config.dropout)
                for _ in range(config.num_layers)
            )
        )
        self.ln = nn.LayerNorm(config.hidden_size)
        self.head = nn.Linear(config.hidden_size, config.num_classes)
        self.class_token = nn.Parameter(torch.empty(1, 1, config.hidden_size))
        self.pos_embedding = nn.Parameter(torch.empty(1, 17, config.hidden_size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the module's own parameters afresh."""
        nn.init.zeros_(self.class_token)
        nn.init.trunc_normal_(self.pos_embedding, std=0.02)

    def init_weights(self) -> None:
        """Draw every parameter afresh, as torch's layers do; running statistics begin anew."""
        for module in self.modules():
            if hasattr(module, "reset_parameters"):
                reset: Any = module.reset_parameters
                reset()
        for module in self.modules():
            if isinstance(module, nn.MultiheadAttention):
                module._reset_parameters()

    def forward(self, image: Tensor) -> Tensor:
        """Return the source's output."""
        h = self.conv_proj(image).flatten(2).transpose(1, 2)  # [batch, 16, 36]
        image = self.class_token.expand(image.shape[0], -1, -1)  # [batch, 1, 36]
        h = self.ln(self.layers(torch.cat((image, h), dim=1) + self.pos_embedding))[:, 0]
        return self.head(h)
