"""Small models as people write them, and what the tests of the PyTorch frontend convert."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class BasicBlock(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.downsample = None
        if stride != 1 or inner != outer:
            self.downsample = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.layer1 = nn.Sequential(BasicBlock(8, 8, 1), BasicBlock(8, 8, 1))
        self.layer2 = nn.Sequential(BasicBlock(8, 16, 2), BasicBlock(16, 16, 1))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer2(self.layer1(self.stem(x)))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class CausalSelfAttention(nn.Module):
    def __init__(self, width: int, heads: int, rate: float) -> None:
        super().__init__()
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.attn_dropout, self.resid_dropout = nn.Dropout(rate), nn.Dropout(rate)
        self.n_head = heads
        self.register_buffer("bias", torch.tril(torch.ones(32, 32)).view(1, 1, 32, 32), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = self.attn_dropout(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))


class GPTBlock(nn.Module):
    def __init__(self, width: int, heads: int, rate: float) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = CausalSelfAttention(width, heads, rate)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(width, 4 * width), "c_proj": nn.Linear(4 * width, width)})

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x))))


class GPT(nn.Module):
    """The head is tied to the embedding, as in nanoGPT."""

    def __init__(self) -> None:
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(50, 16), "wpe": nn.Embedding(32, 16),
            "h": nn.ModuleList(GPTBlock(16, 2, 0.1) for _ in range(3)), "ln_f": nn.LayerNorm(16),
        })  # fmt: skip
        self.lm_head = nn.Linear(16, 50, bias=False)
        self.transformer["wte"].weight = self.lm_head.weight

    def forward(self, idx: Tensor) -> Tensor:
        pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
        x = self.transformer["wte"](idx) + self.transformer["wpe"](pos)
        for block in self.transformer["h"]:  # type: ignore[union-attr]
            x = block(x)
        return self.lm_head(self.transformer["ln_f"](x))


class DoubleConv(nn.Module):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(inner, outer, 3, padding=1), nn.GroupNorm(2, outer), nn.SiLU(),
            nn.Conv2d(outer, outer, 3, padding=1), nn.GroupNorm(2, outer), nn.SiLU(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.double_conv(x)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inc, self.down1, self.down2 = DoubleConv(3, 4), DoubleConv(4, 8), DoubleConv(8, 16)
        self.up1 = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.conv1, self.conv2 = DoubleConv(16, 8), DoubleConv(12, 4)
        self.outc = nn.Conv2d(4, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        x1 = self.inc(x)
        x2 = self.down1(F.max_pool2d(x1, 2))
        x3 = self.down2(F.max_pool2d(x2, 2))
        y = self.conv1(torch.cat([x2, self.up1(x3)], dim=1))
        y = F.interpolate(y, size=x1.shape[-2:], mode="bilinear", align_corners=False)
        return self.outc(self.conv2(torch.cat([x1, y], dim=1)))


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(30, 12, padding_idx=0)
        self.lstm = nn.LSTM(12, 8, num_layers=2, batch_first=True, bidirectional=True, dropout=0.2)
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(16, 5)

    def forward(self, tokens: Tensor) -> Tensor:
        h, _ = self.lstm(self.embed(tokens))
        return self.out(self.drop(h))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.cls = nn.Parameter(torch.randn(1, 1, 16))
        self.head = nn.Linear(16, 3)

    def forward(self, x: Tensor, mask: Tensor) -> dict[str, Tensor]:
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1)
        mask = F.pad(mask, (1, 0), value=False)
        x = self.encoder(x, src_key_padding_mask=mask)
        return {"logits": self.head(x[:, 0]), "tokens": x[:, 1:]}


class DropPath(nn.Module):
    """As in timm."""

    def __init__(self, drop_prob: float) -> None:
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x: Tensor) -> Tensor:
        if self.drop_prob == 0.0 or not self.training:
            return x
        keep = 1 - self.drop_prob
        mask = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep)
        mask.div_(keep)
        return x * mask


class Mixer(nn.Module):
    """Stochastic depth, layer scale, and a branch that its author left off."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(8, 8), nn.Linear(8, 8)
        self.gamma = nn.Parameter(0.1 * torch.ones(8))
        self.drop_path = DropPath(0.2)
        self.unused = nn.Sequential(nn.Linear(8, 2), nn.BatchNorm1d(2))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop_path(self.gamma * F.gelu(self.fc1(x)))
        return F.dropout(self.fc2(x), 0.1, self.training) if self.training else self.fc2(x)


class FrozenBatchNorm(nn.Module):
    """As in detection models: buffers, and arithmetic."""

    def __init__(self, num: int) -> None:
        super().__init__()
        for name, value in (("weight", 2.0), ("bias", 0.5), ("running_mean", 0.1), ("running_var", 1.5)):
            self.register_buffer(name, torch.full((num,), value))

    def forward(self, x: Tensor) -> Tensor:
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False)


class Shared(nn.Module):
    """One layer called twice, another under two names, a frozen part, tensors that are no buffers, odd names."""

    def __init__(self) -> None:
        super().__init__()
        self._proj = nn.Linear(6, 6)
        self.first = nn.Linear(6, 6)
        self.second = self.first
        self.norm = FrozenBatchNorm(6)
        self.frozen = nn.Linear(6, 6).requires_grad_(False)
        self.table = torch.arange(6.0)
        self.W, self.w = nn.Parameter(torch.randn(6, 6)), nn.Parameter(torch.randn(6))
        self.temperature = nn.Parameter(torch.tensor(0.7))
        self.register_buffer("steps", torch.tensor(3))
        self.blocks = nn.ModuleDict({"a-b": nn.Linear(6, 6)})

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self._proj(torch.relu(self._proj(x)))
        x = self.norm(self.second(self.first(x)))
        x = self.frozen(x) * self.temperature + self.table + torch.tensor(2.0)
        y = x @ self.W.t() + self.w
        y[:, 0] = 1.0
        y[:, 1:3] += x[:, :2]
        return y, self.steps * 2 + x.shape[0]


class WeightNorms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 6, 3))
        self.b = nn.utils.parametrizations.weight_norm(nn.Linear(8, 5))

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.a(x))


class Versioned(nn.Module):
    """A state of an older version is not read."""

    _version = 2

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        assert local_metadata["version"] == 2
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class Pair(nn.Module):
    """Two inputs go through one encoder as one batch, with a module of a version of its own."""

    _version = "0.1"  # a library's own, not torch's

    def __init__(self) -> None:
        super().__init__()
        self.encoder = Versioned()

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        first, second = torch.chunk(self.encoder(torch.cat([left, right], dim=0)), chunks=2, dim=0)
        return torch.tanh(first) - torch.sigmoid(second)


CASES: dict[str, tuple[type[nn.Module], tuple[Any, ...], tuple[Any, ...] | None]] = {
    "resnet": (ResNet, (torch.randn(2, 3, 16, 16),), (torch.randn(5, 3, 16, 16),)),
    "gpt": (GPT, (torch.randint(50, (1, 12)),), (torch.randint(50, (3, 12)),)),
    "unet": (UNet, (torch.randn(2, 3, 16, 16),), (torch.randn(3, 3, 16, 16),)),
    "tagger": (Tagger, (torch.randint(30, (2, 9)),), (torch.randint(30, (5, 9)),)),
    "encoder": (Encoder, (torch.randn(2, 7, 16), torch.zeros(2, 7, dtype=torch.bool)), None),
    "mixer": (Mixer, (torch.randn(1, 4, 8),), (torch.randn(6, 4, 8),)),
    "pair": (Pair, (torch.randn(3, 4), torch.randn(3, 4)), (torch.randn(5, 4), torch.randn(5, 4))),
    "versioned": (Versioned, (torch.randn(3, 4),), (torch.randn(5, 4),)),
    "shared": (Shared, (torch.randn(4, 6),), (torch.randn(5, 6),)),
    "weight_norms": (WeightNorms, (torch.randn(2, 4, 10),), (torch.randn(5, 4, 10),)),
}
