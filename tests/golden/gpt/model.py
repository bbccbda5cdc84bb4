# The model of gpt, in PyTorch.
# Source: GPT, sha256 6af3fea89febcbc4c878c25d19d166d8c2d2ffc2d4bf4b022ff9c95e651cae17
# Written by migrate 0.1.0.
# Edit freely; regeneration keeps local/.
"""The model gpt.

Sizes in the comments:
    batch: idx.shape[0]
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .config import ModelConfig


# from CausalSelfAttention
class CausalSelfAttention(nn.Module):
    """Linear; used 4 times."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.split_size = hidden_size
        self.size = 12
        self.num_heads = 3
        self.head_dim = hidden_size // 3
        self.c_attn = nn.Linear(hidden_size, 3 * hidden_size)
        self.c_proj = nn.Linear(hidden_size, hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.c_attn(x).split(self.split_size, dim=2)  # [batch, 12, 24]
        q = q.reshape(q.shape[0], self.size, self.num_heads, self.head_dim).transpose(1, 2)
        k = k.reshape(k.shape[0], self.size, self.num_heads, self.head_dim).transpose(1, 2)
        v = v.reshape(v.shape[0], self.size, self.num_heads, self.head_dim).transpose(1, 2)
        h = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return self.c_proj(h)


# from MLP
class MLP(nn.Module):
    """Linear and Dropout; used 4 times."""

    def __init__(self, hidden_size: int, *, dropout: float) -> None:
        super().__init__()
        self.c_fc = nn.Linear(hidden_size, 4 * hidden_size)
        self.c_proj = nn.Linear(4 * hidden_size, hidden_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.c_proj(F.gelu(self.c_fc(x)))
        return self.dropout(x)


# from Block
class Block(nn.Module):
    """LayerNorm, CausalSelfAttention and MLP; used 4 times."""

    def __init__(self, hidden_size: int, *, dropout: float) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(hidden_size)
        self.attn = CausalSelfAttention(hidden_size)
        self.ln_2 = nn.LayerNorm(hidden_size)
        self.mlp = MLP(hidden_size, dropout=dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


# from GPT
class Model(nn.Module):
    """Embedding, Block, LayerNorm and Linear."""

    def __init__(self, config: ModelConfig = ModelConfig()) -> None:
        super().__init__()
        self.length = 12
        self.wte = nn.Embedding(61, config.hidden_size)
        self.wpe = nn.Embedding(20, config.hidden_size)
        self.h = nn.Sequential(
            *(Block(config.hidden_size, dropout=config.dropout) for _ in range(config.num_layers))
        )
        self.ln_f = nn.LayerNorm(config.hidden_size)
        self.lm_head = nn.Linear(config.hidden_size, 61, bias=False)
        self.lm_head.weight = self.wte.weight  # one tensor

    def init_weights(self) -> None:
        """Draw every parameter afresh, as torch's layers do; running statistics begin anew."""
        for module in self.modules():
            if hasattr(module, "reset_parameters"):
                reset: Any = module.reset_parameters
                reset()

    def forward(self, idx: Tensor) -> Tensor:
        """Return the source's output."""
        h = self.h(self.wte(idx) + self.wpe(torch.arange(self.length, device=idx.device)))
        return self.lm_head(self.ln_f(h))
