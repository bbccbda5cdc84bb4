"""Which weights a gradient of the outputs reaches."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from migrate.frontends.pytorch import export_module, load_pytorch
from migrate.graph.reach import reached


class Net(nn.Module):
    def __init__(self, case: str) -> None:
        super().__init__()
        self.case = case
        self.a, self.b = nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        if self.case == "unused":
            return x * self.a
        if self.case == "detached":
            return x * self.a + self.b.detach()
        if self.case == "in training only":
            return x * self.a + (x * self.b if self.training else x)
        if self.case == "through integers":
            return x * self.a + (self.b > 0).to(x.dtype)
        if self.case == "an input detached":
            return x * self.a + x.detach() * self.b
        return x * self.a * self.b + (x * self.b).detach()


CASES = {
    "unused": "a", "detached": "a", "in training only": "a", "through integers": "a",
    "an input detached": "ab", "straight through": "ab",
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_gradients_reach(case: str) -> None:
    graph = load_pytorch(export_module(Net(case), (torch.randn(3, 4),)))
    found = reached(graph)
    assert {v.weight.source for v in graph.state if v in found and v.weight is not None} == set(CASES[case])
