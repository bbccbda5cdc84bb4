"""The state of a run: taken, put back elsewhere, and refused where it does not fit."""

import random

import numpy as np
import pytest
import torch
from torch import nn

from runtime.comm import World
from runtime.hal import open_device
from runtime.kernels import FusedAdamW
from runtime.package import PackageError
from runtime.train.state import RunState, undisturbed_generators


def run_state(width=4, optimizer=torch.optim.AdamW, world=None, enabled=False):
    model = nn.Sequential(nn.Linear(3, width), nn.BatchNorm1d(width))
    device = open_device("cpu")
    return RunState(
        model=model,
        optimizer=optimizer(model.parameters(), lr=0.1),
        scaler=device.grad_scaler(enabled=enabled),
        device=device,
        world=world or World(),
    )


def trained(**kwargs):
    state = run_state(**kwargs)
    for _ in range(2):
        state.optimizer.zero_grad()
        loss = state.model(torch.randn(5, 3)).square().sum()
        state.scaler.scale(loss).backward()
        state.scaler.step(state.optimizer)
        state.scaler.update()
    return state


def test_everything_comes_back():
    source, target = trained(), run_state()
    tensors, values = source.tensors(), source.values()
    expected = torch.rand(3), random.random(), np.random.rand()
    assert target.restore(tensors, values) == []
    assert (torch.rand(3).tolist(), random.random(), np.random.rand()) == (expected[0].tolist(), *expected[1:])
    back = target.tensors()
    same = [name for name in tensors if torch.equal(tensors[name], back[name])]
    assert {name for name in tensors if name not in same} <= {n for n in tensors if n.startswith("rng/")}
    assert "optimizer/exp_avg/0.weight" in same and "model/1.running_mean" in same


def test_the_loss_scale_comes_back():
    source, target = trained(enabled=True), run_state(enabled=True)
    source.scaler.update(new_scale=512.0)
    target.restore(source.tensors(), source.values())
    assert target.scaler.get_scale() == 512.0


def test_other_processes_give_their_generators_only():
    tensors = trained(world=World(rank=1, size=2)).tensors()
    assert tensors and all(name.startswith("rng/1/") for name in tensors)


def test_another_number_of_processes_is_remarked():
    source = trained()
    remarks = run_state(world=World(rank=1, size=2)).restore(source.tensors(), source.values())
    assert len(remarks) == 1 and "of 1 processes, this run has 2" in remarks[0]


@pytest.mark.parametrize(
    ("target", "message"), [({"width": 5}, "another model; 0.weight"), ({"optimizer": torch.optim.SGD}, "AdamW")]
)
def test_what_does_not_fit_is_refused(target, message):
    source = trained()
    with pytest.raises(PackageError, match=message):
        run_state(**target).restore(source.tensors(), source.values())


@pytest.mark.parametrize("makers", [(torch.optim.AdamW, FusedAdamW), (FusedAdamW, torch.optim.AdamW)])
def test_implementations_of_one_optimizer_take_each_others_state(makers):
    source, target = (run_state(optimizer=make) for make in makers)
    source = trained(optimizer=makers[0])
    target.restore(source.tensors(), source.values())
    expected, got = source.tensors(), target.tensors()
    assert all(torch.equal(got[name], expected[name]) for name in expected if name.startswith("optimizer/"))
    assert any(name.startswith("optimizer/exp_avg_sq/") for name in got)


def test_generators_come_back():
    def draws():
        return torch.rand(1).item(), random.random(), np.random.rand()

    with undisturbed_generators(open_device("cpu")):
        inside = draws()
    assert draws() == inside
