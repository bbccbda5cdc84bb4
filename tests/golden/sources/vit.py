"""A vision transformer: patches, a class token, `nn.MultiheadAttention` with packed projections."""

import torch
from torch import nn


class EncoderBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.self_attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.dropout = nn.Dropout(0.1)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        y = self.ln_1(x)
        y, _ = self.self_attention(y, y, y, need_weights=False)
        x = x + self.dropout(y)
        return x + self.mlp(self.ln_2(x))


class ViT(nn.Module):
    def __init__(self, width: int = 36, heads: int = 3, layers: int = 4, patch: int = 4, size: int = 16) -> None:
        super().__init__()
        self.conv_proj = nn.Conv2d(3, width, patch, stride=patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embedding = nn.Parameter(torch.empty(1, (size // patch) ** 2 + 1, width).normal_(std=0.02))
        self.layers = nn.Sequential(*(EncoderBlock(width, heads) for _ in range(layers)))
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, image):
        x = self.conv_proj(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.class_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embedding
        return self.head(self.ln(self.layers(x))[:, 0])


def model() -> nn.Module:
    return ViT()


def example() -> tuple[torch.Tensor, ...]:
    return (torch.zeros(2, 3, 16, 16),)
