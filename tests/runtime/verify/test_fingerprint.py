"""Gradient marks: stored in float64, equal in float32, different for other gradients."""

import torch
from torch import nn

from runtime.verify import GoldenCase, golden_gradients
from runtime.verify.fingerprint import check_fingerprint


def module():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(), nn.Linear(12, 3)).eval()


CASE = GoldenCase(name="c", inputs=(torch.randn(2, 2, 5, generator=torch.Generator().manual_seed(1)),), outputs=())


def test_the_same_module_passes_within_a_small_tolerance():
    golden = golden_gradients(module(), CASE)
    check = check_fingerprint(module(), golden, CASE.inputs)
    assert check.passed and check.error < 1e-6 and golden.tolerance == 1e-4


class Lossy(nn.Sequential):
    """The same names and outputs, with a tenth of the first layer's gradient lost."""

    def forward(self, x):
        y = self[0](x)
        y = 0.9 * y + 0.1 * y.detach()
        for layer in list(self)[1:]:
            y = layer(y)
        return y


def test_another_gradient_with_the_same_outputs_fails():
    check = check_fingerprint(Lossy(*module()).eval(), golden_gradients(module(), CASE), CASE.inputs)
    assert not check.passed and "0.weight" in check.detail


def test_other_parameters_fail():
    golden = golden_gradients(module(), CASE)
    frozen = module()
    frozen[4].requires_grad_(False)
    check = check_fingerprint(frozen, golden, CASE.inputs)
    assert not check.passed and "4.bias, 4.weight" in check.detail
