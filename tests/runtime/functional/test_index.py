"""Look-ups and writes by a tensor of places."""

import pytest
import torch

from runtime.functional.index import gather_nd, scatter_nd

X = torch.arange(24.0, dtype=torch.float64).reshape(2, 3, 4)
PLACES = torch.tensor([[0, 1], [1, -1]])


def test_gather_nd_takes_slices_and_counts_from_the_end() -> None:
    assert torch.equal(gather_nd(X, PLACES), torch.stack([X[0, 1], X[1, 2]]))


def test_gather_nd_within_each_sample() -> None:
    assert torch.equal(gather_nd(X, torch.tensor([[1], [2]]), batch_dims=1), torch.stack([X[0, 1], X[1, 2]]))


@pytest.mark.parametrize(
    ("reduction", "wanted"), [("none", -1.0), ("add", 3.0), ("mul", -4.0), ("max", 4.0), ("min", -1.0)]
)
def test_scatter_nd_leaves_its_input_alone(reduction: str, wanted: float) -> None:
    updates = torch.full((2, 4), -1.0, dtype=torch.float64)
    before = X.clone()
    written = scatter_nd(X, PLACES, updates, reduction)
    assert torch.equal(X, before)
    assert written[0, 1, 0] == wanted and torch.equal(written[0, 0], X[0, 0])


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max"])
def test_gradients(reduction: str) -> None:
    x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    updates = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, u: scatter_nd(x, PLACES, u, reduction), (x, updates))
    assert torch.autograd.gradcheck(lambda x: gather_nd(x, PLACES), (x,))
