# The model of bert, in PyTorch.
# Source: bert.onnx, sha256 14e82573b8bc5c46e03c32b149e92920fdbd80d5b1589315f06a11b89caa6d3f
# Written by migrate 0.1.0.
# Edit freely; regeneration keeps local/.
"""The model bert."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .config import ModelConfig


# from /model/embeddings/position_embeddings/Gather
class PositionEmbeddings(nn.Module):
    """Computes without parameters."""

    index: Tensor

    def __init__(self, *, hidden_size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(40, hidden_size))
        self.register_buffer("index", torch.zeros(1, 16, dtype=torch.int64))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the module's own parameters afresh."""
        nn.init.trunc_normal_(self.weight, std=0.02)

    def forward(self) -> Tensor:
        return self.weight[self.index]


# from /model/encoder/layer.0/attention/self/Reshape
class Self(nn.Module):
    """Linear; used 3 times."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.num_heads = 4
        self.head_dim = hidden_size // 4
        self.query = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        q = self.query(x).unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)
        v = self.value(x).unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)
        k = self.key(x).unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)
        h = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1 if self.training else 0.0)
        return h.transpose(1, 2).flatten(2)


# from /model/encoder/layer.0/attention/output/Add
class Output(nn.Module):
    """Linear, Dropout and LayerNorm; used 6 times."""

    def __init__(self, in_features: int, hidden_size: int, *, dropout: float) -> None:
        super().__init__()
        self.dense = nn.Linear(in_features, hidden_size)
        self.dropout = nn.Dropout(dropout)
        self.LayerNorm = nn.LayerNorm(hidden_size, eps=1e-12)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        return self.LayerNorm(self.dropout(self.dense(x)) + h)


# from /model/encoder/layer.0/intermediate/intermediate_act_fn/Gelu
class Intermediate(nn.Module):
    """Linear; used 3 times."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.dense = nn.Linear(hidden_size, 2 * hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(self.dense(x))


# from /model/embeddings/GatherElements
class Embeddings(nn.Module):
    """Embedding, PositionEmbeddings, LayerNorm and Dropout."""

    index: Tensor

    def __init__(self, hidden_size: int, *, dropout: float) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(101, hidden_size)
        self.token_type_embeddings = nn.Embedding(2, hidden_size)
        self.position_embeddings = PositionEmbeddings(hidden_size=hidden_size)
        self.LayerNorm = nn.LayerNorm(hidden_size, eps=1e-12)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("index", torch.zeros(1, 40, dtype=torch.int64))

    def forward(self, ids: Tensor) -> Tensor:
        ids_b = self.index.gather(1, self.position_embeddings.index).expand(ids.shape[0], -1)
        h = self.word_embeddings(ids)
        h = self.LayerNorm(h + self.token_type_embeddings(ids_b) + self.position_embeddings())
        return self.dropout(h)


# from /model/encoder/layer.0/attention/self/Reshape
class Attention(nn.Module):
    """Self and Output; used 3 times."""

    def __init__(self, hidden_size: int, *, dropout: float) -> None:
        super().__init__()
        self.self = Self(hidden_size)
        self.output = Output(hidden_size, hidden_size, dropout=dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.self(x), x)


# from /model/encoder/layer.0/attention/self/Reshape
class Layer(nn.Module):
    """Attention, Intermediate and Output; used 3 times."""

    def __init__(self, hidden_size: int, *, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(hidden_size, dropout=dropout)
        self.intermediate = Intermediate(hidden_size)
        self.output = Output(2 * hidden_size, hidden_size, dropout=dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.attention(x)
        return self.output(self.intermediate(x), x)


# from /model/encoder/layer.0/attention/self/Reshape
class Encoder(nn.Module):
    """Layer."""

    def __init__(self, hidden_size: int, *, num_layers: int, dropout: float) -> None:
        super().__init__()
        self.layer = nn.Sequential(
            *(Layer(hidden_size, dropout=dropout) for _ in range(num_layers))
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


# from /model/embeddings/GatherElements
class Block(nn.Module):
    """Embeddings and Encoder."""

    def __init__(self, hidden_size: int, *, dropout: float, num_layers: int) -> None:
        super().__init__()
        self.embeddings = Embeddings(hidden_size, dropout=dropout)
        self.encoder = Encoder(hidden_size, num_layers=num_layers, dropout=dropout)

    def forward(self, ids: Tensor) -> Tensor:
        return self.encoder(self.embeddings(ids))


class Model(nn.Module):
    """Block."""

    def __init__(self, config: ModelConfig = ModelConfig()) -> None:
        super().__init__()
        self.model = Block(config.hidden_size, dropout=config.dropout, num_layers=config.num_layers)

    def init_weights(self) -> None:
        """Draw every parameter afresh, as torch's layers do; running statistics begin anew."""
        for module in self.modules():
            if hasattr(module, "reset_parameters"):
                reset: Any = module.reset_parameters
                reset()

    def forward(self, x: Tensor) -> Tensor:
        """Return the source's output."""
        return self.model(x)
