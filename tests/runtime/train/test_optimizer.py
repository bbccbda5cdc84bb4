"""Which parameters are decayed, and which optimizer is built."""

import re

import pytest
import torch
from torch import nn

from runtime.package import PackageError
from runtime.train.optimizer import build_optimizer, parameter_groups
from runtime.train.settings import OptimizerSettings, from_tables


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
    decayed, free = parameter_groups(Mixed(), OptimizerSettings(weight_decay=0.1))
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
        parameter_groups(nn.Linear(2, 2).requires_grad_(False), OptimizerSettings())


@pytest.mark.parametrize(
    ("name", "kind"), [("adamw", torch.optim.AdamW), ("adam", torch.optim.Adam), ("sgd", torch.optim.SGD)]
)
def test_kinds(name, kind):
    optimizer = build_optimizer(nn.Linear(2, 2), OptimizerSettings(name=name, lr=0.5, momentum=0.25))
    assert isinstance(optimizer, kind) and optimizer.param_groups[0]["lr"] == 0.5


def test_groups_take_what_their_patterns_name_and_the_first_wins():
    tables = {
        "weight_decay": 0.1,
        "groups": [
            {"parameters": ["conv.*"], "lr_ratio": 10.0},
            {"parameters": ["*.weight"], "weight_decay": 0.3},
        ],
    }
    optimizer = build_optimizer(Mixed(), from_tables({"optimizer": {"lr": 0.5} | tables}).optimizer)
    conv, weights, rest, free = optimizer.param_groups
    assert conv["param_names"] == ["conv.weight", "conv.bias"]
    assert (conv["lr"], conv["weight_decay"], weights["lr"], weights["weight_decay"]) == (5.0, 0.0, 0.5, 0.3)
    assert weights["param_names"] == ["norm.weight", "table.weight"]
    assert (rest["weight_decay"], free["weight_decay"]) == (0.1, 0.0) and "norm.bias" in free["param_names"]


def test_a_group_may_name_what_is_frozen_and_a_tie_by_any_of_its_names():
    model = Mixed()
    model.other = nn.Embedding(7, 4)
    model.other.weight = model.table.weight
    groups = [{"parameters": ["other.weight"], "lr_ratio": 2.0}, {"parameters": ["frozen.*"]}]
    optimizer = build_optimizer(model, from_tables({"optimizer": {"lr": 0.5, "groups": groups}}).optimizer)
    assert (optimizer.param_groups[0]["param_names"], optimizer.param_groups[0]["lr"]) == (["table.weight"], 1.0)
    assert not any(name.startswith("frozen") for group in optimizer.param_groups for name in group["param_names"])


def test_all_are_decayed_where_the_settings_say_so():
    (group,) = build_optimizer(Mixed(), OptimizerSettings(decayed="all", weight_decay=0.2)).param_groups
    assert len(group["params"]) == 10 and group["weight_decay"] == 0.2


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([{"parameters": ["nothing.*"]}], "no parameter is called 'nothing.*'"),
        ([{"parameters": "conv.*"}], "must be a list"),
        (["conv.*"], "must be a list of tables"),
        ([{"names": ["a"]}], "unknown setting"),
        ([{"parameters": ["*"], "lr_ratio": -1.0}], "at least 0"),
    ],
)
def test_a_wrong_group_is_an_error(groups, words):
    with pytest.raises(PackageError, match=re.escape(words)):
        build_optimizer(Mixed(), from_tables({"optimizer": {"groups": groups}}).optimizer)
