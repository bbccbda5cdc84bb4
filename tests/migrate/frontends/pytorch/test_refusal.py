"""What a user reads where torch cannot export: the line, and what helps there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from migrate.errors import MigrateError
from migrate.frontends.pytorch import export_module


class Branches(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2 if x.sum() > 0 else x  # an if on content


class Cuts(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[: int(x.abs().sum())]  # a size from content


class Leaves(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.from_numpy(x.numpy())  # out of torch


class Multiplies(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x @ torch.ones(4, 4)  # needs four columns


CASES: dict[str, tuple[nn.Module, tuple[Any, ...], str, str, str]] = {
    "if": (
        Branches(),
        (torch.randn(2, 3),),
        "torch.export refuses Branches",
        "torch.where(condition, a, b)",
        "an if on",
    ),
    "size": (Cuts(), (torch.randn(2, 3),), "torch.export refuses Cuts", "mask", "a size from"),
    "numpy": (Leaves(), (torch.randn(2, 3),), "torch.export refuses Leaves", "operators of torch", "out of torch"),
    "shape": (Multiplies(), (torch.randn(2, 3),), "does not run on its example inputs", "--input", "needs four"),
    "count": (Multiplies(), (), "does not run on its example inputs", "--input", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_a_refusal_says_where_and_what_helps(case: str) -> None:
    module, inputs, what, todo, mark = CASES[case]
    with pytest.raises(MigrateError) as caught:
        export_module(module, inputs)
    (found,) = caught.value.diagnostics
    assert found.code == "MIG204" and what in found.what and todo in found.todo
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = next((k for k, text in enumerate(lines, 1) if f"# {mark}" in text), None) if mark else None
    assert found.where.endswith(f"test_refusal.py:{line}") if line else not found.where.startswith("/")
