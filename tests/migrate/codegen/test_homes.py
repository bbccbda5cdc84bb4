"""Where the source's modules hold their tensors decides which layers and scopes there are."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from migrate.codegen.homes import common, split_key
from tests.migrate.frontends.pytorch.parity import check


class Elsewhere(nn.Module):
    """Calls a layer's tensors without calling the layer, as attention does with its projection."""

    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.proj.weight, self.proj.bias)


class Renamed(nn.Module):
    """The tensors of a linear layer under names of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel, self.offset = nn.Parameter(torch.randn(6, 6)), nn.Parameter(torch.randn(6))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.kernel, self.offset)


class Scaled(nn.Linear):
    """A linear layer that does more, under a linear layer's names."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * 2


class WithMask(nn.Linear):
    """A linear layer that holds more than it computes with."""

    def __init__(self) -> None:
        super().__init__(6, 6)
        self.register_buffer("mask", torch.ones(6, 6))


class Lent(nn.Module):
    """Computes with a tensor of another module."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Renamed()

    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        return self.inner(x) @ weight


class Lender(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lent, self.weight = Lent(), nn.Parameter(torch.randn(6, 6))

    def forward(self, x: Tensor) -> Tensor:
        return self.lent(x, self.weight)


class Model(nn.Module):
    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.part = part

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.part(x))


PARTS = {
    "elsewhere": (Elsewhere, "self.proj = nn.Linear(6, 6)"),
    "renamed": (Renamed, "F.linear(x, self.kernel, bias=self.offset)"),
    "scaled": (lambda: Scaled(6, 6), "class Scaled(nn.Module):"),
    "with_mask": (WithMask, 'self.register_buffer("mask", torch.zeros(6, 6))'),
    "lender": (Lender, "self.weight = nn.Parameter(torch.empty(6, 6))"),
}


@pytest.mark.parametrize("name", PARTS)
def test_every_tensor_keeps_its_place(name: str) -> None:
    make, expected = PARTS[name]
    assert expected in check(Model(make()), (torch.randn(4, 6),), (torch.randn(5, 6),))


def test_paths() -> None:
    assert split_key("a.0.weight") == (("a", "0"), "weight")
    assert split_key("weight") == ((), "weight")
    assert common(("a", "b"), ("a", "c")) == ("a",)
