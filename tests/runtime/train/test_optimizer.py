"""Which parameters are decayed, and which optimizer is built."""

import pytest
import torch
from torch import nn

from runtime.package import PackageError
from runtime.train.optimizer import build_optimizer, parameter_groups
from runtime.train.settings import OptimizerSettings


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.LayerNorm([4, 5])
        self.scale = nn.Parameter(torch.ones(1, 4, 1, 1))
        self.rnn = nn.GRU(4, 4)
        self.table = nn.Embedding(7, 4)
        self.frozen = nn.Linear(4, 4).requires_grad_(False)


def test_weights_are_decayed_and_norms_biases_and_scales_are_not():
    decayed, free = parameter_groups(Mixed(), 0.1)
    assert [name for name, _ in decayed["params"]] == [
        "conv.weight",
        "rnn.weight_ih_l0",
        "rnn.weight_hh_l0",
        "table.weight",
    ]
    assert {name for name, _ in free["params"]} == {
        "scale",
        "conv.bias",
        "norm.weight",
        "norm.bias",
        "rnn.bias_ih_l0",
        "rnn.bias_hh_l0",
    }
    assert (decayed["weight_decay"], free["weight_decay"]) == (0.1, 0.0)


def test_nothing_trainable_is_an_error():
    with pytest.raises(PackageError, match="no trainable parameter"):
        parameter_groups(nn.Linear(2, 2).requires_grad_(False), 0.1)


@pytest.mark.parametrize(("name", "kind"), [("adamw", torch.optim.AdamW), ("sgd", torch.optim.SGD)])
def test_kinds(name, kind):
    optimizer = build_optimizer(nn.Linear(2, 2), OptimizerSettings(name=name, lr=0.5, momentum=0.25))
    assert isinstance(optimizer, kind) and optimizer.param_groups[0]["lr"] == 0.5
