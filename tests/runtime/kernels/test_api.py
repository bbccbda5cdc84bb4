"""The public door: keyword signatures, and that a chosen kernel reaches the emitted call."""

import torch

from runtime import kernels
from runtime.kernels import dispatch
from runtime.kernels.request import requested


def test_public_names():
    assert all(hasattr(kernels, name) for name in kernels.__all__)


def test_defaults_reach_the_kernel():
    x, weight = torch.randn(3, 4), torch.ones(4)
    torch.testing.assert_close(kernels.rms_norm(x, weight), kernels.rms_norm(x, weight, 1e-6))
    torch.testing.assert_close(kernels.layer_norm(x, None, None), kernels.layer_norm(x, weight, None, 1e-5))


def test_keywords_arrive_in_place():
    x, weight, target = torch.randn(3, 4), torch.randn(5, 4), torch.tensor([0, 1, 2])
    seen = []
    asked = requested("linear_cross_entropy", (x, weight, target, None, 1, "sum"))
    dispatch.choose(asked, lambda *args: seen.append(args))
    try:
        kernels.linear_cross_entropy(x, weight, target, reduction="sum", ignore_index=1)
    finally:
        kernels.reset()
    assert seen[0][3:] == (None, 1, "sum")
