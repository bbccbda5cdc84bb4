"""Outputs against golden cases: what passes, what fails, and outputs that prove nothing."""

import copy

import pytest
import torch
from torch import nn

from runtime.hal import open_device
from runtime.package import TensorSpec
from runtime.verify import GoldenCase, perturb
from runtime.verify.forward import check_case, check_variation, relative_error

OUTPUTS = (TensorSpec(name="y", shape=("batch", 2)),)


def module():
    torch.manual_seed(0)
    return nn.Linear(3, 2).eval()


@torch.no_grad()
def case(sigma=0.0, offset=0.0):
    source = module()
    perturb(source, 1, sigma)
    x = torch.randn(4, 3)
    return GoldenCase(name="c", inputs=(x,), outputs=(source(x) + offset,), seed=1, sigma=sigma)


def failed(checked):
    return [check.name for check in checked if not check.passed]


@pytest.mark.parametrize("sigma", [0.0, 0.01, 0.05])
def test_equal_functions_pass_and_the_module_stays_as_it_is(sigma):
    subject = module()
    before = copy.deepcopy(subject.state_dict())
    assert failed(check_case(subject, case(sigma), open_device("cpu"), OUTPUTS)) == []
    assert all(torch.equal(before[name], t) for name, t in subject.state_dict().items())


def test_a_difference_fails_and_is_named():
    assert failed(check_case(module(), case(offset=1e-3), open_device("cpu"), OUTPUTS)) == ["c: y"]


def test_a_wrong_parameter_shows_only_when_it_matters():
    class Baked(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = module()
            self.bias = self.linear.bias.detach().clone()

        def forward(self, x):
            return nn.functional.linear(x, self.linear.weight, self.bias)

    def moved(sigma):
        source = nn.ModuleDict({"linear": module()})
        perturb(source, 1, sigma)
        x = torch.ones(2, 3)
        return GoldenCase(name="c", inputs=(x,), outputs=(source["linear"](x).detach(),), seed=1, sigma=sigma)

    device = open_device("cpu")
    assert failed(check_case(Baked(), moved(0.0), device, OUTPUTS)) == []
    assert failed(check_case(Baked(), moved(0.05), device, OUTPUTS)) == ["c: y"]


@pytest.mark.parametrize(
    ("expected", "actual", "error"),
    [
        ([1.0, 2.0], [1.0, 2.5], 0.25),
        ([0.0, 0.0], [0.0, 0.5], 0.5),
        ([float("inf"), 1.0], [float("inf"), 1.0], 0.0),
        ([float("nan"), 1.0], [float("nan"), 1.0], 0.0),
        ([], [], 0.0),
    ],
)
def test_errors_are_relative_to_the_largest(expected, actual, error):
    assert relative_error(torch.tensor(expected), torch.tensor(actual)) == error


def test_a_nan_or_another_shape_never_passes():
    assert not relative_error(torch.ones(2), torch.tensor([1.0, float("nan")])) <= 1e9
    assert relative_error(torch.ones(2), torch.ones(3)) == float("inf")


def test_integers_must_be_equal():
    golden = GoldenCase(name="c", inputs=(torch.tensor([[1.0, 2.0, 0.0]]),), outputs=(torch.tensor([[1]]),))

    class Largest(nn.Module):
        def forward(self, x):
            return x.argmin(1, keepdim=True)

    assert failed(check_case(Largest(), golden, open_device("cpu"), OUTPUTS)) == ["c: y"]


def golden(outputs, name="a"):
    return GoldenCase(name=name, inputs=(), outputs=(torch.tensor(outputs),))


@pytest.mark.parametrize(
    ("cases", "passed"),
    [
        ([golden([[1.0, 2.0], [1.0, 2.0]])], False),
        ([golden([[1.0, 2.0], [1.0, 2.1]])], True),
        ([golden([[1.0, 2.0]]), golden([[1.0, 2.0]], "b")], False),
        ([golden([[1.0, 2.0]]), golden([[1.0, 2.1]], "b")], True),
        ([golden([[1.0, 2.0]])], False),
    ],
)
def test_expected_outputs_must_vary(cases, passed):
    assert check_variation(cases, OUTPUTS).passed is passed
