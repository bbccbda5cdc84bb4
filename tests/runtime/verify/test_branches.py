"""On its branches a function has the value and the derivative it has at the point, and no kink."""

import pytest
import torch
import torch.nn.functional as F

from runtime.verify.branches import Branches

KINKED = {
    "relu": F.relu,
    "relu in place": lambda x: F.relu((x * 1.0), inplace=True),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "prelu": lambda x: F.prelu(x, torch.tensor([0.3]).double()),
    "abs": torch.abs,
    "relu6": F.relu6,
    "hardtanh": lambda x: F.hardtanh(x, -0.4, 0.7),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "clamp_min": lambda x: x.clamp_min(0.1),
    "threshold": lambda x: F.threshold(x, 0.1, 20.0),
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "hardswish": lambda x: F.hardswish(4 * x),
    "hardsigmoid": lambda x: F.hardsigmoid(4 * x),
    "maximum": lambda x: torch.maximum(x, x.flip(-1) * 0.5),
    "max over an axis": lambda x: x.max(-1).values,
    "max over an axis, kept": lambda x: x.max(1, keepdim=True)[0],
    "max_pool1d": lambda x: F.max_pool1d(x[0], 2),
    "max_pool2d": lambda x: F.max_pool2d(x, 3, stride=2, padding=1),
    "max_pool2d of one image": lambda x: F.max_pool2d(x[0], 2),
    "max_pool3d": lambda x: F.max_pool3d(x[None], 2),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 3),
    "comparison": lambda x: torch.where(x > 0, x, 3 * x),
    "round": lambda x: x * torch.round(3 * x),
}


@pytest.mark.parametrize("name", KINKED)
def test_a_large_step_takes_the_branches_of_the_point(name: str) -> None:
    function = KINKED[name]
    torch.manual_seed(0)
    point, way = torch.randn(2, 4, 8, 8).double(), torch.randn(2, 4, 8, 8).double()
    leaf = point.clone().requires_grad_()
    coefficients = torch.randn(function(point).shape).double()
    (gradient,) = torch.autograd.grad((function(leaf) * coefficients).sum(), leaf)
    slope = (gradient * way).sum().item()
    branches = Branches()
    with torch.no_grad():
        with branches:
            plain = function(point)
        assert torch.equal(plain, function(point))
        with branches.again():
            torch.testing.assert_close(function(point), plain)
        ends: list[float] = []
        for step in (1e-2, -1e-2):
            with branches.again():
                ends.append((function(point + step * way) * coefficients).sum().item())
    assert (ends[0] - ends[1]) / 2e-2 == pytest.approx(slope, rel=1e-6 if name != "hardswish" else 1e-3)


def test_a_choice_in_the_code_is_kept_as_well() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return 2 * x if x.sum() > 0 else 3 * x

    branches = Branches()
    with branches:
        function(torch.ones(3))
    with branches.again():
        assert torch.equal(function(-torch.ones(3)), -2 * torch.ones(3))


def test_what_has_no_rule_and_what_was_not_recorded_is_computed_as_it_is() -> None:
    x = torch.tensor([1.0, -2.0])
    branches = Branches()
    with branches:
        torch.clamp(x, min=x.mean())
    with branches.again():
        assert torch.equal(torch.clamp(-x, min=x.mean()), torch.clamp(-x, min=x.mean()))
        assert torch.equal(F.relu(-x), torch.tensor([0.0, 2.0]))
