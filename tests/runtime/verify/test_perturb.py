"""Perturbation is a function of seed, name and sigma, moves every tensor, and keeps variances positive."""

import pytest
import torch
from torch import nn

from runtime.verify import kind_of, perturb, perturbed


def test_it_depends_on_name_seed_and_sigma_alone():
    w = torch.randn(4, 5)
    assert torch.equal(perturbed("a", w, 1, 0.01), perturbed("a", w.clone(), 1, 0.01))
    assert not torch.equal(perturbed("a", w, 1, 0.01), perturbed("b", w, 1, 0.01))
    assert not torch.equal(perturbed("a", w, 1, 0.01), perturbed("a", w, 2, 0.01))
    assert torch.equal(perturbed("a", w, 1, 0.0), w)


def test_the_noise_is_the_same_on_every_machine():
    noise = (perturbed("fc.weight", torch.zeros(3, dtype=torch.float64), 7, 0.5) / 0.005).tolist()
    assert noise == pytest.approx([-1.5534692, 0.5637095, 0.0882894], abs=1e-6)


@pytest.mark.parametrize("sigma", [0.01, 0.05])
@pytest.mark.parametrize("scale", [3.0, 0.0])
def test_the_change_has_the_size_asked_for(sigma, scale):
    w = torch.randn(50, 50) * scale
    change = (perturbed("w", w, 0, sigma) - w).square().mean().sqrt().item()
    assert change == pytest.approx(sigma * max(w.square().mean().sqrt().item(), 0.01), rel=0.05)


def test_variances_stay_positive():
    v = torch.logspace(-8, 3, 100)
    moved = perturbed("v", v, 0, 0.05, "positive")
    assert (moved > 0).all() and (moved / v - 1).abs().max() < 0.09 and not torch.equal(moved, v)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.running_mean", "additive"), ("running_var", "positive"), ("a.num_batches_tracked", None), ("table", None)],
)
def test_kinds(name, kind):
    assert kind_of(name) == kind


def test_a_module_moves_parameters_and_statistics_once():
    module = nn.Sequential(nn.Linear(4, 4, bias=False), nn.BatchNorm1d(4), nn.Linear(4, 4, bias=False))
    module[2].weight = module[0].weight
    module.register_buffer("table", torch.ones(3))
    before = {name: t.clone() for name, t in module.state_dict().items()}
    perturb(module, 3, 0.05)
    after = module.state_dict()
    assert {name for name in before if torch.equal(before[name], after[name])} == {"table", "1.num_batches_tracked"}
    assert torch.equal(after["0.weight"], perturbed("0.weight", before["0.weight"], 3, 0.05))
    assert torch.equal(after["1.running_var"], perturbed("1.running_var", before["1.running_var"], 3, 0.05, "positive"))


@pytest.mark.parametrize(
    ("name", "shape", "kind", "centre"),
    [("w", (64, 32), "additive", 0.0), ("b", (4096,), "additive", 0.5), ("bn.running_mean", (4096,), "additive", 0.0),
     ("bn.running_var", (4096,), "positive", 1.0)],
)  # fmt: skip
def test_a_sigma_of_one_draws_anew_whatever_was_there(name, shape, kind, centre):
    first, second = (perturbed(name, torch.full(shape, fill), 3, 1.0, kind) for fill in (0.0, 7.0))
    assert torch.equal(first, second)
    assert abs(first.mean().item() - centre) < 0.02
    assert first.std() > 0.1
    assert kind != "positive" or first.min() > 0
