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
import torch.nn.functional as F
from torch import Tensor, nn

from .config import ModelConfig


# from MultiheadAttention, torch/nn/modules/activation.py:1089
class MultiheadAttention(nn.Module):
    """Linear; used 4 times."""

    def __init__(self) -> None:
        super().__init__()
        self.num_heads = 3
        self.head_dim = 12
        self.out_proj = nn.Linear(36, 36)
        self.in_proj_weight = nn.Parameter(torch.empty(108, 36))
        self.in_proj_bias = nn.Parameter(torch.empty(108))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the module's own parameters afresh."""
        nn.init.trunc_normal_(self.in_proj_weight, std=0.02)
        nn.init.zeros_(self.in_proj_bias)

    def forward(self, x: Tensor) -> Tensor:
        qkv = F.linear(x, self.in_proj_weight, bias=self.in_proj_bias)
        qkv = qkv.unflatten(-1, (-1, self.num_heads, self.head_dim)).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind()  # [batch, 3, 17, 12]
        h = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)  # [batch, 17, 36]
        return self.out_proj(h)


# from EncoderBlock
class EncoderBlock(nn.Module):
    """LayerNorm, MultiheadAttention, Dropout and 2 more; used 4 times."""

    def __init__(self, *, dropout: float) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(36)
        self.self_attention = MultiheadAttention()
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = nn.LayerNorm(36)
        self.mlp = nn.Sequential(
            nn.Linear(36, 72), nn.GELU(), nn.Linear(72, 36), nn.Dropout(dropout)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.dropout(self.self_attention(self.ln_1(x)))
        return x + self.mlp(self.ln_2(x))


# from ViT
class Model(nn.Module):
    """Conv2d, EncoderBlock, LayerNorm and Linear."""

    def __init__(self, config: ModelConfig = ModelConfig()) -> None:
        super().__init__()
        self.conv_proj = nn.Conv2d(3, 36, kernel_size=4, stride=4)
        self.layers = nn.Sequential(
            *(EncoderBlock(dropout=config.dropout) for _ in range(config.num_layers))
        )
        self.ln = nn.LayerNorm(36)
        self.head = nn.Linear(36, config.num_classes)
        self.class_token = nn.Parameter(torch.empty(1, 1, 36))
        self.pos_embedding = nn.Parameter(torch.empty(1, 17, 36))
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

    def forward(self, image: Tensor) -> Tensor:
        """Return the source's output."""
        h = self.conv_proj(image).flatten(2).transpose(1, 2)  # [batch, 16, 36]
        image = self.class_token.expand(image.shape[0], -1, -1)  # [batch, 1, 36]
        h = self.ln(self.layers(torch.cat((image, h), dim=1) + self.pos_embedding))[:, 0]
        return self.head(h)
