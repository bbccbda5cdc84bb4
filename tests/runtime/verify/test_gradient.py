"""The self-check passes sound models and finds planted faults."""

import pytest
import torch
from torch import nn

from runtime.verify.gradient import check_gradient


class Residual(nn.Module):
    """Two residual branches; `spoil` changes what the second one hands on."""

    def __init__(self, spoil=lambda t: t):
        super().__init__()
        self.stem, self.first, self.second, self.head = (nn.Linear(6, 6) for _ in range(4))
        self.scale = nn.Parameter(torch.ones(6))
        self.spoil = spoil

    def forward(self, x):
        x = torch.relu(self.stem(x))
        x = x + torch.relu(self.first(x))
        x = x + self.spoil(torch.sigmoid(self.second(x)) * self.scale)
        return self.head(x)


class Baked(Residual):
    """A weight that takes part, but without its gradient, beside a use that has one."""

    def forward(self, x):
        return super().forward(x) + nn.functional.linear(x, self.stem.weight.detach())


def checks(module):
    torch.manual_seed(0)
    return {check.name: check for check in check_gradient(module.eval(), [torch.randn(2, 6)])}


def made(kind, *arguments):
    torch.manual_seed(5)
    return kind(*arguments)


def test_a_sound_model_passes_with_a_margin():
    found = checks(made(Residual))
    assert all(check.passed for check in found.values()) and len(found) == 6
    assert max(check.error for check in found.values() if check.error is not None) < 1e-6


def test_a_detached_branch_is_found():
    found = checks(made(Residual, lambda t: t.detach()))
    assert not found["gradient: present"].passed
    assert "second.weight, second.bias" in found["gradient: present"].detail
    assert max(found[f"gradient: random {i}"].error for i in range(1, 5)) > 1e-3


def test_a_tenth_of_a_gradient_lost_is_found():
    found = checks(made(Residual, lambda t: 0.9 * t + 0.1 * t.detach()))
    assert found["gradient: present"].passed
    assert max(found[f"gradient: random {i}"].error for i in range(1, 5)) > 1e-4


def test_a_baked_parameter_is_found():
    found = checks(made(Baked))
    assert found["gradient: present"].passed and not all(check.passed for check in found.values())


def test_a_model_without_trainable_parameters_fails():
    assert not checks(made(Residual).requires_grad_(False))["gradient: present"].passed


TABLE = torch.linspace(0.1, 0.6, 6)


class Casting(nn.Module):
    """Rounds to float32 on the way, as converted models do."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        mask = (x > 0).to(torch.float32)
        x = torch.nn.functional.linear(x, TABLE.diag())
        return self.linear(x).float() * torch.full((6,), 0.3, dtype=torch.float32) * TABLE + mask @ self.linear.weight


def test_casts_in_the_model_do_not_disturb():
    found = checks(made(Casting))
    assert all(check.passed for check in found.values())


def test_it_changes_neither_the_model_nor_the_generator():
    module = made(Residual).eval()
    before = {name: t.clone() for name, t in module.state_dict().items()}
    state, x = torch.get_rng_state(), torch.ones(2, 6)
    check_gradient(module, [x])
    assert all(torch.equal(before[name], t) for name, t in module.state_dict().items())
    assert torch.equal(state, torch.get_rng_state()) and torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize("seed", range(3))
def test_kinks_do_not_fail_it(seed):
    torch.manual_seed(seed)
    layers = [layer for _ in range(4) for layer in (nn.Linear(6, 6), nn.ReLU6(), nn.BatchNorm1d(6), nn.Hardswish())]
    found = checks(nn.Sequential(*layers))
    assert all(check.passed for check in found.values())


class Choosing(nn.Module):
    """One of two layers, by the sign of the input's sum."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(6, 2), nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.left(x) if x.sum() > 0 else self.right(x)


def test_parameters_of_a_branch_are_looked_for_at_further_inputs():
    x = torch.rand(2, 6)
    alone = {check.name: check for check in check_gradient(Choosing().eval(), [x])}
    assert not alone["gradient: present"].passed
    assert all(check.passed for check in check_gradient(Choosing().eval(), [x], further=[[x + 1], [-x]]))
