"""Small ONNX models for tests: built by hand, or exported from PyTorch as users export."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper
from torch import nn

Array = np.ndarray[Any, np.dtype[Any]]
Shape = Sequence[int | str | None]


def weight(*shape: int, seed: int = 0) -> Array:
    """Floats as layers have them."""
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32) / np.float32(2)


def positive(*shape: int, seed: int = 0) -> Array:
    """Floats between 0.5 and 1.5, as variances are."""
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype(np.float32)


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], name: str | None = None, **attributes: Any) -> Any:
    """A node, named after its operator and first output where no name is given."""
    return helper.make_node(op, inputs, outputs, name=f"{op}_{outputs[0]}" if name is None else name, **attributes)


def floats(name: str, shape: Shape | None) -> Any:
    """A float input or output."""
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


def build(
    nodes: Sequence[Any],
    weights: dict[str, Array],
    *,
    inputs: Any = ("x", ("batch", 8)),
    outputs: Sequence[str] = ("y",),
    opset: int = 17,
    name: str = "small",
    extra_opsets: Sequence[str] = (),
) -> onnx.ModelProto:
    """A model of one float input (or the given value infos) whose outputs have no declared shape."""
    taken = [floats(*inputs)] if isinstance(inputs[0], str) else list(inputs)
    made = [helper.make_empty_tensor_value_info(o) if isinstance(o, str) else o for o in outputs]
    made = [floats(o.name, None) if not o.HasField("type") else o for o in made]
    stored = [numpy_helper.from_array(array, key) for key, array in weights.items()]
    graph = helper.make_graph(list(nodes), name, taken, made, stored)
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in extra_opsets)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="tests")


def mlp(opset: int = 17, batch: int | str = "batch") -> onnx.ModelProto:
    """Two layers as MatMul and Add, as Keras exporters write them."""
    nodes = [
        node("MatMul", ["x", "W1"], ["h"]),
        node("Add", ["h", "b1"], ["a"]),
        node("Relu", ["a"], ["r"]),
        node("MatMul", ["r", "W2"], ["y"]),
    ]
    weights = {"W1": weight(8, 6), "b1": weight(6, seed=1), "W2": weight(6, 3, seed=2)}
    return build(nodes, weights, inputs=("x", (batch, 8)), opset=opset)


class ConvNet(nn.Module):
    """Convolution, BatchNorm, ReLU, Dropout and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.c1 = nn.Conv2d(1, 4, 3, bias=False)
        self.b1 = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(self.drop(F.relu(self.b1(self.c1(x)))).mean((2, 3)))


class Attention(nn.Module):
    """Causal self-attention with two heads."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.register_buffer("mask", torch.full((6, 6), -1e9).triu(1), persistent=False)

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = (t.reshape(batch, length, 2, dim // 2).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / (dim // 2) ** 0.5 + self.mask
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, dim))


class Block(nn.Module):
    """A block of a transformer, normalised first."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(dim), Attention(dim)
        self.norm2, self.up, self.down = nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    """A language model of two blocks whose output layer is tied to its embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.tok, self.pos = nn.Embedding(11, 8), nn.Embedding(6, 8)
        self.blocks = nn.Sequential(Block(8), Block(8))
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 11, bias=False)
        self.head.weight = self.tok.weight

    def forward(self, tokens):
        x = self.tok(tokens) + self.pos(torch.arange(6, device=tokens.device))
        return self.head(self.norm(self.blocks(x)))


class Tagger(nn.Module):
    """An embedding, a bidirectional LSTM and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.emb, self.lstm = nn.Embedding(13, 6), nn.LSTM(6, 5, batch_first=True, bidirectional=True)
        self.out = nn.Linear(10, 4)

    def forward(self, tokens):
        return self.out(self.lstm(self.emb(tokens))[0])


class TwoHeads(nn.Module):
    """Two inputs, two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.score, self.kind = (nn.Linear(a, b) for a, b in ((3, 4), (5, 4), (4, 1), (4, 3)))

    def forward(self, left, right):
        h = torch.tanh(self.left(left) + self.right(right))
        return self.score(h), self.kind(h)


def export(
    model: nn.Module,
    inputs: tuple[torch.Tensor, ...],
    names: Sequence[str] = ("x",),
    outputs: Sequence[str] = ("y",),
    *,
    free: bool = True,
    training: bool = False,
    fold: bool = False,
    opset: int = 17,
) -> onnx.ModelProto:
    """A module through the TorchScript exporter; statistics are made unlike those of a fresh module."""
    for buffer in (b for b in model.buffers() if b.is_floating_point() and b.ndim == 1):
        nn.init.uniform_(buffer, 0.5, 1.5)
    mode = torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.EVAL
    axes = {name: {0: "batch"} for name in (*names, *outputs)} if free else None
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.train(training), inputs, file, dynamo=False, input_names=list(names), output_names=list(outputs),
            dynamic_axes=axes, do_constant_folding=fold, training=mode, opset_version=opset,
        )  # fmt: skip
    return onnx.load_from_string(file.getvalue())


def conv_net(**kwargs: Any) -> onnx.ModelProto:
    """`ConvNet` as ONNX; by default as it is trained, so that BatchNorm and Dropout are in the file."""
    torch.manual_seed(0)
    return export(ConvNet(), (torch.randn(2, 1, 6, 6),), **{"training": True, **kwargs})


def gpt() -> onnx.ModelProto:
    """`Gpt` as ONNX."""
    torch.manual_seed(0)
    return export(Gpt(), (torch.randint(0, 11, (2, 6)),), ("tokens",), ("logits",), fold=True)


def tagger() -> onnx.ModelProto:
    """`Tagger` as ONNX."""
    torch.manual_seed(0)
    return export(Tagger(), (torch.randint(0, 13, (2, 5)),), ("tokens",), ("tags",), fold=True)


def two_heads() -> onnx.ModelProto:
    """`TwoHeads` as ONNX."""
    torch.manual_seed(0)
    return export(TwoHeads(), (torch.randn(2, 3), torch.randn(2, 5)), ("left", "right"), ("score", "kind"))


SMALL: dict[str, Callable[[], onnx.ModelProto]] = {
    "mlp": mlp,
    "conv_net": conv_net,
    "gpt": gpt,
    "tagger": tagger,
    "two_heads": two_heads,
}


def save(model: onnx.ModelProto, path: Path) -> Path:
    """Write a model and return where it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())
    return path
