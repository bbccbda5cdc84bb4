"""Layers that nothing calls are made by torch's own class, with the source's arguments and keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from migrate.frontends.pytorch.constructors import arguments_of
from tests.migrate.frontends.pytorch.parity import check

CASES: dict[str, tuple[Callable[[], nn.Module], dict[str, Any], str]] = {
    "linear": (lambda: nn.Linear(4, 5), {"in_features": 4, "out_features": 5}, "nn.Linear(4, 5)"),
    "no bias": (
        lambda: nn.Linear(4, 5, bias=False), {"in_features": 4, "out_features": 5, "bias": False},
        "nn.Linear(4, 5, bias=False)",
    ),
    "conv": (
        lambda: nn.Conv2d(4, 8, (3, 5), stride=2, groups=2, padding=1),
        {"in_channels": 4, "out_channels": 8, "kernel_size": (3, 5), "stride": 2, "padding": 1, "groups": 2},
        "nn.Conv2d(4, 8, kernel_size=(3, 5), stride=2, padding=1, groups=2)",
    ),
    "transposed": (
        lambda: nn.ConvTranspose1d(4, 6, 3, stride=2),
        {"in_channels": 4, "out_channels": 6, "kernel_size": 3, "stride": 2},
        "nn.ConvTranspose1d(4, 6, kernel_size=3, stride=2)",
    ),
    "batch norm": (
        lambda: nn.BatchNorm2d(8, eps=1e-3, momentum=0.2), {"num_features": 8, "eps": 1e-3, "momentum": 0.2},
        "nn.BatchNorm2d(8, eps=0.001, momentum=0.2)",
    ),
    "layer norm": (
        lambda: nn.LayerNorm([5, 5]), {"normalized_shape": (5, 5)}, "nn.LayerNorm((5, 5))",
    ),
    "group norm": (
        lambda: nn.GroupNorm(2, 4), {"num_groups": 2, "num_channels": 4}, "nn.GroupNorm(num_groups=2, num_channels=4)",
    ),
    "embedding": (
        lambda: nn.Embedding(4, 5, padding_idx=1), {"num_embeddings": 4, "embedding_dim": 5, "padding_idx": 1},
        "nn.Embedding(num_embeddings=4, embedding_dim=5, padding_idx=1)",
    ),
    "lstm": (
        lambda: nn.LSTM(4, 5, 2, batch_first=True),
        {"input_size": 4, "hidden_size": 5, "num_layers": 2, "batch_first": True},
        "nn.LSTM(4, 5, num_layers=2, batch_first=True)",
    ),
    "attention": (
        lambda: nn.MultiheadAttention(8, 2, add_bias_kv=True, bias=False),
        {"embed_dim": 8, "num_heads": 2, "bias": False, "add_bias_kv": True, "kdim": 8, "vdim": 8},
        "nn.MultiheadAttention(embed_dim=8, num_heads=2, bias=False, add_bias_kv=True, kdim=8, vdim=8)",
    ),
}  # fmt: skip


class Unused(nn.Module):
    """A head, and every layer of the table beside it, which nothing calls."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)
        self.others = nn.ModuleList(make() for make, _, _ in CASES.values())

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x)


@pytest.mark.parametrize("name", CASES)
def test_arguments_are_the_ones_given(name: str) -> None:
    make, arguments, _ = CASES[name]
    assert arguments_of(make()) == arguments


def test_unused_layers_are_made_by_their_own_class() -> None:
    text = " ".join(check(Unused(), (torch.randn(3, 4),)).split()).replace("( ", "(").replace(" )", ")")
    for _, _, expected in CASES.values():
        assert expected in text
    assert text.count("(nn.Module)") == 1  # no class but the model's


class Own(nn.Linear):
    """A class of the user's."""


def _changed() -> nn.Module:
    made = nn.Linear(4, 5)
    made.weight = nn.Parameter(torch.zeros(2, 2))
    return made


@pytest.mark.parametrize("make", [lambda: Own(4, 5), _changed, nn.ReLU, lambda: nn.RNN(4, 5, nonlinearity="relu")])
def test_what_is_not_sure_has_none(make: Callable[[], nn.Module]) -> None:
    assert arguments_of(make()) is None
