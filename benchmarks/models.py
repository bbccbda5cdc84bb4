"""The files that converters are tried on: real ones from public packages, and small ones exported here by PyTorch.

A case knows its file, the sizes to train it with and nothing of any converter.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import onnx
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.models import NAMES, model_path

MADE = Path(__file__).resolve().parents[1] / ".cache" / "benchmarks"
VOCABULARY, CONTEXT, FEATURES = 256, 64, 64


# ---- networks


class MLP(nn.Sequential):
    def __init__(self) -> None:
        sizes = (256, 512, 512, 512, 16)
        layers = [[nn.Linear(a, b), nn.ReLU()] for a, b in pairwise(sizes)]
        super().__init__(*[layer for pair in layers for layer in pair][:-1])


class ResidualBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


class ResNet(nn.Module):
    """ResNet-18 of half the width, for small images; its statistics and scales are random, as after training."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32)
        widths = (32, 32, 64, 128, 256)
        stages = zip(widths, widths[1:], (1, 2, 2, 2), strict=False)
        blocks = [[ResidualBlock(a, b, stride), ResidualBlock(b, b, 1)] for a, b, stride in stages]
        self.blocks = nn.Sequential(*[block for pair in blocks for block in pair])
        self.fc = nn.Linear(widths[-1], 10)
        for norm in self.modules():
            if isinstance(norm, nn.BatchNorm2d):
                for tensor in (norm.weight, norm.running_var):
                    tensor.data.uniform_(0.5, 1.5)
                for tensor in (norm.bias, norm.running_mean):
                    tensor.data.uniform_(-0.1, 0.1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.blocks(F.relu(self.bn1(self.conv1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class TransformerBlock(nn.Module):
    def __init__(self, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(FEATURES), nn.LayerNorm(FEATURES)
        self.qkv, self.proj = nn.Linear(FEATURES, 3 * FEATURES), nn.Linear(FEATURES, FEATURES)
        self.mlp = nn.Sequential(nn.Linear(FEATURES, 4 * FEATURES), nn.GELU(), nn.Linear(4 * FEATURES, FEATURES))
        self.register_buffer("mask", torch.full((CONTEXT, CONTEXT), -1e9).triu(1))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (t.reshape(-1, CONTEXT, self.heads, FEATURES // self.heads).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(FEATURES // self.heads) + self.mask
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(-1, CONTEXT, FEATURES)
        x = x + self.proj(y)
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, FEATURES)
        self.places = nn.Parameter(torch.randn(CONTEXT, FEATURES) * 0.02)
        self.blocks = nn.Sequential(*[TransformerBlock() for _ in range(4)])
        self.norm, self.head = nn.LayerNorm(FEATURES), nn.Linear(FEATURES, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.norm(self.blocks(self.tokens(tokens) + self.places)))


class Tagger(nn.Module):
    """An LSTM over 64 features a step, and a class for every step."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(FEATURES, 128, num_layers=2, batch_first=True)
        self.head = nn.Linear(128, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0])


# ---- cases


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A file, what it is called in tables, and the free sizes with which it is trained (others are `batch`)."""

    name: str
    file: Callable[[], Path]
    batch: int = 8
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    high: int = VOCABULARY
    trained: bool = True
    compiled: bool = True
    slow: bool = False
    note: str = ""

    def inputs(self) -> tuple[Tensor, ...]:
        """Fixed random inputs."""
        generator = torch.Generator().manual_seed(0)
        graph = onnx.load(str(self.file()), load_external_data=False).graph
        stored = {tensor.name for tensor in graph.initializer}
        return tuple(self._draw(v.type.tensor_type, generator) for v in graph.input if v.name not in stored)

    def _draw(self, kind: Any, generator: torch.Generator) -> Tensor:
        shape = [d.dim_value or self.sizes.get(d.dim_param, self.batch) for d in kind.shape.dim]
        if kind.elem_type == onnx.TensorProto.INT64:
            return torch.randint(self.high, shape, generator=generator)
        return torch.randn(shape, generator=generator)


def _export(
    name: str, network: Callable[[], nn.Module], example: Callable[[], Tensor], opset: int, keep_norm: bool
) -> Callable[[], Path]:
    """The file of a network: exported once, from random weights."""

    def file() -> Path:
        path = MADE / f"{name}.onnx"
        if path.exists():
            return path
        MADE.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(0)
        module = network()
        # By default this exporter folds BatchNorm into the convolution before it.
        mode = torch.onnx.TrainingMode.PRESERVE if keep_norm else torch.onnx.TrainingMode.EVAL
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                module.eval(),
                (example(),),
                str(path),
                dynamo=False,
                opset_version=opset,
                training=mode,
                do_constant_folding=not keep_norm,
                input_names=["input"],
                output_names=["output"],
                dynamic_axes={"input": {0: "batch"}, "output": {0: "batch"}},
            )
        return path

    return file


def _image() -> Tensor:
    return torch.randn(2, 3, 32, 32)


def _tokens() -> Tensor:
    return torch.randint(VOCABULARY, (2, CONTEXT))


def _made(name: str, network: Callable[[], nn.Module], example: Callable[[], Tensor], *, note: str, batch: int) -> Case:
    opset = 17 if name.endswith("17") else 14
    return Case(name=name, file=_export(name, network, example, opset, name.endswith("_bn")), note=note, batch=batch)


def _real(name: str, **settings: Any) -> Case:
    return Case(name=name, file=lambda: model_path(name), **settings)


TRAINED = (
    _real("basic_pitch", batch=1, compiled=False, slow=True, note="nmp.onnx, by tf2onnx: 2 s of audio to notes"),
    _real(
        "nudenet", batch=2, compiled=False, sizes={"height": 160, "width": 160}, note="320n.onnx, YOLOv8n at 160 x 160"
    ),
    _real("silero_sequence", batch=32, note="silero_vad_16k_sequence.onnx; a batch is a sequence of 32 frames"),
    _made("mlp", MLP, lambda: torch.randn(2, 256), note="4 linear layers", batch=64),
    _made("resnet18", ResNet, _image, note="ResNet-18, half width, 32 x 32, BatchNorm folded by the exporter", batch=8),
    _made("resnet18_bn", ResNet, _image, note="the same, BatchNorm kept", batch=8),
    _made("gpt", GPT, _tokens, note="4 blocks of 64 features, 64 tokens, opset 14 (LayerNorm in pieces)", batch=8),
    _made("gpt_opset17", GPT, _tokens, note="the same, opset 17 (LayerNormalization)", batch=8),
    _made("lstm", Tagger, lambda: torch.randn(2, 32, 64), note="2 layers of 128, 32 steps", batch=16),
)
CASES = {case.name: case for case in TRAINED}
CASES |= {name: _real(name, trained=False) for name in NAMES if name not in CASES}
