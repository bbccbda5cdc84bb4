"""A small emitted package, written by hand to the contract of docs/architecture.md: a CNN, a transformer block, an LSTM."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from migrate.opmap import Trace, load_target, trace_package
from migrate.opmap.trace import Precision

BATCH = 3

SPEC = """
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
"""

INIT = """
from .model import Model


def load_model(pretrained=True):
    assert not pretrained
    return Model().eval()
"""

LOSS = """
from torch.nn import functional as F

from .spec import TensorSpec

TARGETS = (TensorSpec(name="label", shape=("batch", {extra}), dtype="int64", high={classes}),)


def compute_loss(model, inputs, targets):
    logits = model(*inputs)
    return F.cross_entropy(logits.flatten(0, -2), targets[0].flatten())
"""

CNN = """
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
"""

GPT = """
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
"""

LSTM = """
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 16)
        self.lstm = nn.LSTM(16, 24, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(48, 8)

    def forward(self, tokens):
        return self.head(self.lstm(self.embed(tokens))[0])
"""

TOKENS = 'TensorSpec(name="tokens", shape=("batch", "time"), dtype="int64", high=64)'
IMAGE = 'TensorSpec(name="image", shape=("batch", 3, 16, 16), dtype="{dtype}")'


def write_package(
    root: Path, name: str, model: str, *, inputs: str = TOKENS, target: str = "", classes: int = 64
) -> Path:
    """Writes the package `name` under `root` and returns `root`."""
    folder = root / name
    folder.mkdir(parents=True)
    config = f'from .spec import TensorSpec\n\nINPUTS = ({inputs},)\nSIZES = {{"time": 6}}\n'
    files = {"spec": SPEC, "__init__": INIT, "config": config, "model": model}
    files["loss"] = LOSS.format(extra=target, classes=classes)
    for part, text in files.items():
        (folder / f"{part}.py").write_text(text.lstrip(), encoding="utf-8")
    mapping = {"schema": 1, "tensors": [], "modules": {"stem": ["/stem/Conv"], "lstm": ["/lstm/LSTM"]}}
    (folder / "weights.json").write_text(json.dumps(mapping), encoding="utf-8")
    return root


WRITERS: dict[str, dict[str, object]] = {
    "cnn": {"model": CNN, "inputs": IMAGE.format(dtype="float32"), "classes": 10},
    "cnn64": {
        "model": CNN.replace("nn.Linear(16, 10)", "nn.Linear(16, 10)\n        self.double()"),
        "inputs": IMAGE.format(dtype="float64"),
        "classes": 10,
    },
    "gpt": {"model": GPT, "target": '"time"'},
    "lstm": {"model": LSTM, "target": '"time"', "classes": 8},
}


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The folder of one of the packages above, or of a package `name` with the text of its model given."""
    made: dict[str, Path] = {}

    def write(name: str, model: str = "") -> Path:
        if name not in made:
            options = WRITERS.get(name) or {"model": model, "target": '"time"', "classes": 8}
            made[name] = write_package(tmp_path_factory.mktemp(name), name, **options)  # type: ignore[arg-type]
        return made[name]

    return write


@pytest.fixture(scope="session")
def traced(package: Callable[..., Path]) -> Callable[..., Trace]:
    """The trace of one of the packages: each is made once, since each is a process."""
    made: dict[tuple[str, str, str], Trace] = {}

    def trace(name: str, target: str = "vendor_a", precision: Precision = "fp32") -> Trace:
        key = (name, target, precision)
        if key not in made:
            made[key] = trace_package(package(name), name, load_target(target), batch=BATCH, precision=precision)
        return made[key]

    return trace
