"""A small emitted package, written by hand to the contract of docs/architecture.md: a CNN, a transformer block, an LSTM."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

SPEC = '''
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TensorSpec:
    name: str
    shape: tuple
    dtype: str = "float32"
    high: int | None = None
    batch_axis: int | None = 0

    def sizes(self, free, batch):
        named = [free[s] if isinstance(s, str) and i != self.batch_axis else s for i, s in enumerate(self.shape)]
        return tuple(batch if i == self.batch_axis else int(s) for i, s in enumerate(named))
'''

INIT = '''
from .model import Model


def load_model(pretrained=True):
    assert not pretrained
    return Model().eval()
'''

LOSS = '''
from torch.nn import functional as F

from .spec import TensorSpec

TARGETS = (TensorSpec(name="label", shape=("batch", {extra}), dtype="int64", high={classes}),)


def compute_loss(model, inputs, targets):
    logits = model(*inputs)
    return F.cross_entropy(logits.flatten(0, -2), targets[0].flatten())
'''

CNN = '''
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return x + self.norm(self.conv(x)).relu()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3)
        self.blocks = nn.Sequential(Block(16), Block(16))
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.dropout(self.blocks(self.stem(x)).mean((2, 3))))
'''

GPT = '''
import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d)
        x = x + self.proj(y)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 32)
        self.blocks = nn.ModuleList(Block(32, 4) for _ in range(2))
        self.head = nn.Linear(32, 64, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)
'''

LSTM = '''
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 16)
        self.lstm = nn.LSTM(16, 24, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(48, 8)

    def forward(self, tokens):
        return self.head(self.lstm(self.embed(tokens))[0])
'''

TOKENS = 'TensorSpec(name="tokens", shape=("batch", "time"), dtype="int64", high=64)'
IMAGE = 'TensorSpec(name="image", shape=("batch", 3, 16, 16), dtype="{dtype}")'


def write_package(
    root: Path, name: str, model: str, *, inputs: str, target: str = "", classes: int = 64, loss: str = ""
) -> Path:
    """Writes the package `name` under `root` and returns `root`."""
    folder = root / name
    folder.mkdir(parents=True)
    config = f'from .spec import TensorSpec\n\nINPUTS = ({inputs},)\nSIZES = {{"time": 6}}\n'
    files = {"spec": SPEC, "__init__": INIT, "config": config, "model": model}
    files["loss"] = loss or LOSS.format(extra=target, classes=classes)
    for part, text in files.items():
        (folder / f"{part}.py").write_text(text.lstrip(), encoding="utf-8")
    mapping = {"schema": 1, "tensors": [], "modules": {"stem": ["/stem/Conv"], "lstm": ["/lstm/LSTM"]}}
    (folder / "weights.json").write_text(json.dumps(mapping), encoding="utf-8")
    return root


@pytest.fixture
def package(tmp_path: Path) -> Callable[..., Path]:
    """Writes one of the packages `cnn`, `cnn64` (float64), `gpt`, `lstm`, or a model given as text."""

    def write(name: str, model: str = "", **options: str) -> Path:
        if model:
            return write_package(tmp_path, name, model, inputs=options.pop("inputs", TOKENS), **options)
        if name == "gpt":
            return write_package(tmp_path, name, GPT, inputs=TOKENS, target='"time"')
        if name == "lstm":
            return write_package(tmp_path, name, LSTM, inputs=TOKENS, target='"time"', classes=8)
        dtype = "float64" if name == "cnn64" else "float32"
        text = CNN
        if dtype == "float64":
            text = CNN.replace("self.head = nn.Linear(16, 10)", "self.head = nn.Linear(16, 10)\n        self.double()")
        return write_package(tmp_path, name, text, inputs=IMAGE.format(dtype=dtype), classes=10)

    return write
