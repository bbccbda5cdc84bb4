from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from migrate.opmap.scopes import Scopes


class Watch(TorchDispatchMode):
    def __init__(self, scopes: Scopes) -> None:
        super().__init__()
        self.scopes = scopes
        self.seen: list[tuple[str, str]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append((func._schema.name.removeprefix("aten::"), self.scopes.path()))
        return func(*args, **(kwargs or {}))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.last = nn.Linear(4, 2)

    def logits(self, x: Tensor) -> Tensor:
        return self.last(self.first(x)).tanh()

    def forward(self, x: Tensor) -> Tensor:
        return self.logits(x).softmax(-1)


def test_forward_and_backward_operators_belong_to_their_modules():
    net = Net()
    watch = Watch(Scopes(net))
    with watch:
        net(torch.ones(3, 4)).square().sum().backward()
    of = {name: [path for seen, path in watch.seen if seen == name] for name, _ in watch.seen}
    assert of["addmm"] == ["first.0", "last"]
    assert of["relu"] == ["first.1"]
    assert of["threshold_backward"] == ["first.1"]
    assert of["tanh_backward"] == [""]
    assert of["mm"][:2] == ["last", "last"] and set(of["mm"][2:]) == {"first.0"}


def test_a_loss_on_logits_runs_inside_the_model():
    net = Net()
    scopes = Scopes(net)
    watch = Watch(scopes)
    with watch:
        net.logits(torch.ones(3, 4)).sum()
    assert not scopes.running
    assert [path for name, path in watch.seen if name in ("addmm", "tanh")] == ["first.0", "last", ""]


def test_an_exception_leaves_no_module_behind():
    net = Net()
    scopes = Scopes(net)
    with pytest.raises(RuntimeError) as caught:
        net(torch.ones(3, 5))
    assert not scopes.running
    assert (scopes.fault, scopes.fault_path) == (caught.value, "first.0")
