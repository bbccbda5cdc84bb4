"""Groups of rows with a matrix each: against a product for every row, gradients included."""

from __future__ import annotations

import pytest
import torch

from runtime.functional.grouped import grouped_mm


@pytest.mark.parametrize("ends", [(2, 5, 7), (0, 7, 7), (3, 3, 5), (7, 7, 7)])
def test_each_row_meets_the_matrix_of_its_group(ends: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(7, 4).double().requires_grad_(), torch.randn(3, 4, 5).double().requires_grad_()
    given = torch.tensor(ends, dtype=torch.int32)
    group = torch.searchsorted(given, torch.arange(7), right=True)
    padded = torch.cat([weight, torch.zeros(1, 4, 5).double()])
    wanted = torch.einsum("ri,rio->ro", x, padded[group])
    torch.testing.assert_close(grouped_mm(x, weight, given), wanted)
    assert torch.autograd.gradcheck(lambda x, w: grouped_mm(x, w, given), (x, weight))
