"""What a module writes into its buffers is taken back; what it left alone is not written, so that gradients stay."""

import pytest
import torch
from torch import nn

from runtime.verify.unchanged import unchanged


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("steps", torch.tensor(2))
        self.register_buffer("table", torch.full((3,), 0.5))

    def forward(self, x):
        self.steps += 1
        return x * self.scale * self.table


def test_buffers_are_put_back_and_gradients_stay():
    module = Counts()
    with unchanged(module):
        y = module(torch.ones(3))
        assert module.steps.item() == 3
    assert module.steps.item() == 2
    y.sum().backward()
    assert torch.equal(module.scale.grad, torch.full((3,), 0.5))


def test_also_after_a_fault():
    module = Counts()
    with pytest.raises(RuntimeError), unchanged(module):
        module(torch.ones(4))
    assert module.steps.item() == 2
