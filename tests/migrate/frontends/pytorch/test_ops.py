"""Every layer of `torch.nn`, as a member of a model: outputs, gradients and state in both modes, or a diagnostic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations

from tests.migrate.frontends.pytorch.parity import check

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # torch tells of its slower paths
Case = tuple[nn.Module, tuple[Tensor, ...]]
LINE, IMAGE, VOLUME = torch.randn(4, 6, 10), torch.randn(4, 6, 8, 8), torch.randn(4, 6, 4, 4, 4)
VECTOR, SEQUENCE, OTHER = torch.randn(4, 6), torch.randn(4, 5, 8), torch.randn(4, 7, 8)
EXACT_ONLY_IN_EVALUATION = ("RReLU", "AlphaDropout", "FeatureAlphaDropout")
PLAIN = (
    "ELU", "Hardshrink", "Hardsigmoid", "Hardtanh", "Hardswish", "LeakyReLU", "LogSigmoid", "PReLU", "ReLU", "ReLU6",
    "RReLU", "SELU", "CELU", "GELU", "Sigmoid", "SiLU", "Mish", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink",
    "GLU", "Softmax2d", "Identity", "Flatten",
)  # fmt: skip


class Unpooled(nn.Module):
    """Pooling and its inverse."""

    def __init__(self) -> None:
        super().__init__()
        self.pool, self.unpool = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.unpool(*self.pool(x))


def by_rank(rank: str, x: Tensor) -> Iterator[tuple[str, Case]]:
    made: dict[str, tuple[Any, ...]] = {
        "Conv": (6, 8, 3, 2, 1, 1, 2), "ConvTranspose": (6, 8, 3, 2, 1, 1), "MaxPool": (2,), "AvgPool": (2,),
        "AdaptiveAvgPool": (2,), "AdaptiveMaxPool": (2,), "LPPool": (2, 2), "BatchNorm": (6,), "InstanceNorm": (6,),
        "Dropout": (0.3,), "ReflectionPad": (1,), "ReplicationPad": (1,), "ZeroPad": (1,), "ConstantPad": (1, 2.5),
        "CircularPad": (1,),
    }  # fmt: skip
    for name, args in made.items():
        yield f"{name}{rank}", (getattr(nn, name + rank)(*args), (x,))
    norm = getattr(nn, f"BatchNorm{rank}")
    yield f"BatchNorm{rank}-affine", (norm(6, affine=False), (x,))
    yield f"BatchNorm{rank}-untracked", (norm(6, track_running_stats=False), (x,))
    instance = getattr(nn, f"InstanceNorm{rank}")
    yield f"InstanceNorm{rank}-affine", (instance(6, affine=True), (x,))
    yield f"InstanceNorm{rank}-tracked", (instance(6, affine=True, track_running_stats=True), (x,))
    conv = getattr(nn, f"Conv{rank}")
    yield f"Conv{rank}-circular", (conv(6, 8, 3, padding=1, padding_mode="circular"), (x,))
    yield f"Conv{rank}-same", (conv(6, 8, 3, padding="same"), (x,))


def recurrent() -> Iterator[tuple[str, Case]]:
    for name in ("RNN", "GRU", "LSTM"):
        kind = getattr(nn, name)
        yield name, (kind(10, 7, batch_first=True), (LINE,))
        yield f"{name}-time-first", (kind(10, 7), (LINE,))
        deep = kind(10, 7, num_layers=2, bidirectional=True, batch_first=True, dropout=0.2)
        yield f"{name}-deep", (deep, (LINE,))
        yield f"{name}Cell", (getattr(nn, f"{name}Cell")(6, 5), (VECTOR,))
    yield "RNN-relu", (nn.RNN(10, 7, nonlinearity="relu", batch_first=True, bias=False), (LINE,))
    yield "LSTM-projected", (nn.LSTM(10, 7, proj_size=3, batch_first=True), (LINE,))


def others() -> Iterator[tuple[str, Case]]:
    for name in PLAIN:
        yield name, (getattr(nn, name)(), (IMAGE,))
    for name in ("Softmin", "Softmax", "LogSoftmax"):
        yield name, (getattr(nn, name)(dim=1), (IMAGE,))
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")
    made: dict[str, Case] = {
        "Threshold": (nn.Threshold(0.1, 20.0), (IMAGE,)), "PReLU-6": (nn.PReLU(6), (IMAGE,)),
        "GELU-tanh": (nn.GELU("tanh"), (IMAGE,)), "GroupNorm": (nn.GroupNorm(2, 6), (IMAGE,)),
        "GroupNorm-plain": (nn.GroupNorm(2, 6, affine=False), (IMAGE,)), "LayerNorm": (nn.LayerNorm(8), (IMAGE,)),
        "LayerNorm-plain": (nn.LayerNorm((8, 8), elementwise_affine=False), (IMAGE,)),
        "LayerNorm-unbiased": (nn.LayerNorm(8, bias=False), (IMAGE,)), "RMSNorm": (nn.RMSNorm(8), (IMAGE,)),
        "LocalResponseNorm": (nn.LocalResponseNorm(3), (IMAGE,)), "Linear": (nn.Linear(8, 5), (IMAGE,)),
        "Linear-unbiased": (nn.Linear(8, 5, bias=False), (IMAGE,)), "Bilinear": (nn.Bilinear(6, 6, 5), (VECTOR, VECTOR + 1)),
        "Embedding": (nn.Embedding(20, 5, padding_idx=3), (torch.randint(20, (4, 7)),)),
        "EmbeddingBag": (nn.EmbeddingBag(20, 5), (torch.randint(20, (4, 7)),)),
        "Dropout": (nn.Dropout(0.2), (IMAGE,)), "AlphaDropout": (nn.AlphaDropout(0.2), (IMAGE,)),
        "FeatureAlphaDropout": (nn.FeatureAlphaDropout(0.2), (IMAGE,)),
        "MultiheadAttention": (nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True), (SEQUENCE, OTHER, OTHER)),
        "MultiheadAttention-kv": (
            nn.MultiheadAttention(8, 2, kdim=6, vdim=4, batch_first=True, add_bias_kv=True),
            (SEQUENCE, torch.randn(4, 7, 6), torch.randn(4, 7, 4)),
        ),
        "TransformerEncoder": (nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (SEQUENCE,)),
        "TransformerDecoderLayer": (nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, norm_first=True), (SEQUENCE, OTHER)),
        "Transformer": (nn.Transformer(8, 2, 1, 1, 16, batch_first=True), (SEQUENCE, OTHER)),
        "PixelShuffle": (nn.PixelShuffle(2), (torch.randn(4, 8, 4, 4),)), "PixelUnshuffle": (nn.PixelUnshuffle(2), (IMAGE,)),
        "Upsample": (nn.Upsample(scale_factor=2), (IMAGE,)),
        "Upsample-linear": (nn.Upsample(scale_factor=2, mode="linear"), (LINE,)),
        "Upsample-bilinear": (nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), (IMAGE,)),
        "Upsample-bicubic": (nn.Upsample(size=(5, 7), mode="bicubic"), (IMAGE,)),
        "Upsample-trilinear": (nn.Upsample(scale_factor=2, mode="trilinear"), (VOLUME,)),
        "ChannelShuffle": (nn.ChannelShuffle(2), (IMAGE,)), "Unfold": (nn.Unfold(2, stride=2), (IMAGE,)),
        "Fold": (nn.Fold((4, 4), (2, 2), stride=2), (torch.randn(4, 12, 4),)), "MaxUnpool2d": (Unpooled(), (IMAGE,)),
        "Unflatten": (nn.Unflatten(1, (2, 3)), (IMAGE,)), "CosineSimilarity": (nn.CosineSimilarity(), (VECTOR, VECTOR + 1)),
        "PairwiseDistance": (nn.PairwiseDistance(), (VECTOR, VECTOR + 1)),
        "weight_norm": (parametrizations.weight_norm(nn.Linear(6, 5)), (VECTOR,)),
        "Embedding-renormalised": (nn.Embedding(20, 5, max_norm=1.0), (torch.randint(20, (4, 7)),)),
        "FractionalMaxPool2d": (nn.FractionalMaxPool2d(2, output_size=3), (IMAGE,)),
        "FractionalMaxPool3d": (nn.FractionalMaxPool3d(2, output_size=2), (VOLUME,)),
        "CrossMapLRN2d": (nn.CrossMapLRN2d(3), (IMAGE,)),
        "spectral_norm": (parametrizations.spectral_norm(nn.Linear(6, 5)), (VECTOR,)),
    }  # fmt: skip
    yield from made.items()


CASES = dict([*by_rank("1d", LINE), *by_rank("2d", IMAGE), *by_rank("3d", VOLUME), *recurrent(), *others()])


class Model(nn.Module):
    """One layer and nothing else."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, *inputs: Tensor) -> Any:
        return self.layer(*inputs)


def seldom(name: str) -> bool:
    """Whether a case differs from another by its rank only."""
    return "1d" in name or "3d" in name


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if seldom(n) else n for n in CASES])
def test_a_layer_is_the_same(name: str) -> None:
    layer, example = CASES[name]
    check(Model(layer), example, train=name not in EXACT_ONLY_IN_EVALUATION)
