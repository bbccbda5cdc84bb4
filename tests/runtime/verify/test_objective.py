"""The scalar depends on every output, by logits where the module has them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from runtime.verify.objective import coefficients, evaluate, objective


class Two(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x.softmax(-1), x * 2, x.argmax(-1)


class Logits(Two):
    def logits(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x, x * 2, x.argmax(-1)


def test_outputs_that_are_no_floats_are_left_out() -> None:
    x = torch.randn(2, 3)
    assert [torch.equal(a, b) for a, b in zip(evaluate(Two(), [x]), (x.softmax(-1), 2 * x), strict=True)] == [
        True,
        True,
    ]
    assert torch.equal(evaluate(Logits(), [x])[0], x)


def test_every_output_gets_a_gradient_and_the_seed_decides() -> None:
    outputs = [torch.randn(2, 3, requires_grad=True), torch.randn(4, requires_grad=True)]
    weights = coefficients(outputs, seed=1)
    objective(outputs, weights).backward()
    for output, weight in zip(outputs, weights, strict=True):
        assert output.grad is not None
        torch.testing.assert_close(output.grad, weight.float())
    assert all(map(torch.equal, weights, coefficients(outputs, seed=1)))
    assert not torch.equal(weights[0], coefficients(outputs, seed=2)[0])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_sum_is_of_order_one(scale: float) -> None:
    torch.manual_seed(0)
    outputs = [torch.randn(1000) * scale]
    assert 1e-2 < abs(objective(outputs, coefficients(outputs, seed=0)).item()) < 10
