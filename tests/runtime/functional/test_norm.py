"""Normalisations of our own."""

import torch
import torch.nn.functional as F

from runtime.functional.norm import cross_channel_norm, lp_normalize


def test_an_odd_neighbourhood_is_that_of_torch() -> None:
    x = torch.randn(2, 7, 4, 5)
    ours = cross_channel_norm(x, 5, alpha=0.3, beta=0.75, bias=2.0)
    torch.testing.assert_close(ours, F.local_response_norm(x, 5, alpha=0.3, beta=0.75, k=2.0))


def test_the_odd_neighbour_of_an_even_neighbourhood_comes_after() -> None:
    x = torch.tensor([1.0, 2.0, 3.0]).reshape(1, 3, 1)
    wanted = x / (1 + 0.5 * torch.tensor([1 + 4, 4 + 9, 9.0]).reshape(1, 3, 1))
    torch.testing.assert_close(cross_channel_norm(x, 2, alpha=1.0, beta=1.0, bias=1.0), wanted)


def test_zeros_stay_zeros_with_a_finite_gradient() -> None:
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    y = lp_normalize(x, 2, -1)
    torch.testing.assert_close(y.detach(), torch.tensor([[0.0, 0.0], [0.6, 0.8]]))
    y.sum().backward()
    assert x.grad is not None and torch.isfinite(x.grad).all()


def test_gradients() -> None:
    x = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: cross_channel_norm(x, 4, 0.3, 0.75, 1.0), (x,))
    assert torch.autograd.gradcheck(lambda x: lp_normalize(x, 2, 1), (x,))
