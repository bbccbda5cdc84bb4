"""Pooling with any padding."""

import pytest
import torch
import torch.nn.functional as F

from runtime.functional.pool import lp_pool, padded_avg_pool, window_mean

X = torch.randn(2, 3, 8, 9, dtype=torch.float64)
NONE = (0, 0, 0, 0)


@pytest.mark.parametrize("include", [False, True])
def test_even_padding_is_that_of_torch(include: bool) -> None:
    ours = padded_avg_pool(X, (3, 3), (2, 2), (1, 1, 1, 1), NONE, (1, 1), include)
    torch.testing.assert_close(ours, F.avg_pool2d(X, 3, 2, 1, count_include_pad=include))


def test_what_lies_beyond_never_counts() -> None:
    ours = padded_avg_pool(X, (3, 3), (2, 2), NONE, (0, 0, 0, 1), (1, 1), True)
    torch.testing.assert_close(ours, F.avg_pool2d(X, 3, 2, ceil_mode=True))


def test_a_dilated_window() -> None:
    ours = window_mean(X, (2, 2), (1, 1), (2, 3))
    corners = [X[:, :, i : i + 6, j : j + 6] for i in (0, 2) for j in (0, 3)]
    torch.testing.assert_close(ours, sum(corners) / 4)


def test_the_norm_takes_absolute_values() -> None:
    x = torch.tensor([[[-3.0, 4.0]]])
    assert lp_pool(x, 1, (2,), (1,), (0, 0), (1,)).item() == pytest.approx(7)
    assert lp_pool(x, 2, (2,), (1,), (0, 0), (1,)).item() == pytest.approx(5)


def test_gradients() -> None:
    x = torch.randn(1, 2, 5, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x: padded_avg_pool(x, (3, 3), (2, 2), (0, 1, 1, 0), NONE, (1, 1), False), (x,)
    )
    assert torch.autograd.gradcheck(lambda x: lp_pool(x, 3, (2, 2), (1, 1), NONE, (1, 1)), (x,))
