"""Padding of any axis."""

import numpy as np
import pytest
import torch

from runtime.functional.pad import pad_axes

MODES = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("pads", [(1, 2, 0, 0, 1, 0), (7, 9), (0, 0, 5, 4)])
def test_numbers_are_those_of_numpy(mode: str, pads: tuple[int, ...]) -> None:
    x = torch.randn(2, 3, 4)
    pairs = [(0, 0)] * (3 - len(pads) // 2) + [pads[i : i + 2] for i in range(len(pads) - 2, -1, -2)]
    assert np.array_equal(pad_axes(x, pads, mode).numpy(), np.pad(x.numpy(), pairs, mode=MODES[mode]))


@pytest.mark.parametrize("mode", MODES)
def test_negative_padding_cuts(mode: str) -> None:
    x = torch.arange(5.0)
    assert torch.equal(pad_axes(x, (-1, -2), mode), x[1:3])


def test_an_axis_of_one_element_repeats_it() -> None:
    assert torch.equal(pad_axes(torch.ones(1), (2, 2), "reflect"), torch.ones(5))


def test_gradients() -> None:
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: pad_axes(x, (4, 3, 1, 0), "reflect"), (x,))
