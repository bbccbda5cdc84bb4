"""Cutting an axis: the parts are those that torch gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.migrate.frontends.pytorch.parity import check

CUTS: dict[str, Callable[[Tensor], Any]] = {
    "chunk, even": lambda x: torch.chunk(x, 3, 1),
    "chunk, uneven": lambda x: torch.chunk(x[:, :8], 3, 1),
    "tensor_split, even": lambda x: torch.tensor_split(x, 3, 1),
    "tensor_split, uneven": lambda x: torch.tensor_split(x, 4, 1),
    "tensor_split at places": lambda x: torch.tensor_split(x, [2, 5], 1),
    "tensor_split beyond the end": lambda x: torch.tensor_split(x, [4, 90], 1)[:2],
    "split by one size": lambda x: torch.split(x, 4, 1),
    "split by sizes": lambda x: torch.split(x, [1, 6, 2], 1),
}


class Cut(nn.Module):
    def __init__(self, cut: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.line, self.cut = nn.Linear(9, 9), cut

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(part * (k + 1) for k, part in enumerate(self.cut(self.line(x))))


@pytest.mark.parametrize("name", CUTS)
def test_parts_are_torchs(name: str) -> None:
    torch.manual_seed(0)
    check(Cut(CUTS[name]), (torch.randn(3, 9),), (torch.randn(2, 9),))
