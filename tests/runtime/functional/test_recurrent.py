"""The GRU whose reset gate acts before the product."""

import pytest
import torch

from runtime.functional.recurrent import gru_reset_first

T, N, F, H = 4, 2, 3, 5


def weights(directions: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = [(3 * H, F), (3 * H, H), (3 * H,), (3 * H,)] * directions
    return [torch.randn(s, generator=generator, dtype=torch.float64) * 0.3 for s in shapes]


def run(x: torch.Tensor, h: torch.Tensor, flat: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    return gru_reset_first(x, h, flat, True, 1, 0.0, False, len(flat) == 8, False)


def test_without_a_recurrent_new_gate_it_is_that_of_torch() -> None:
    """The two differ only in where the reset gate meets the weight of the new state."""
    flat = weights(2)
    for w_hh, b_hh in ((flat[1], flat[3]), (flat[5], flat[7])):
        w_hh[2 * H :] = 0
        b_hh[2 * H :] = 0
    x, h = torch.randn(T, N, F, dtype=torch.float64), torch.randn(2, N, H, dtype=torch.float64)
    for ours, theirs in zip(run(x, h, flat), torch.gru(x, h, flat, True, 1, 0.0, False, True, False), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_with_one_it_is_another() -> None:
    x, h = torch.randn(T, N, F, dtype=torch.float64), torch.randn(1, N, H, dtype=torch.float64)
    flat = weights(1)
    assert not torch.allclose(run(x, h, flat)[0], torch.gru(x, h, flat, True, 1, 0.0, False, False, False)[0])


def test_gradients() -> None:
    x = torch.randn(T, N, F, dtype=torch.float64, requires_grad=True)
    h = torch.randn(2, N, H, dtype=torch.float64, requires_grad=True)
    flat = [w.requires_grad_() for w in weights(2)]
    assert torch.autograd.gradcheck(lambda x, h, *w: run(x, h, list(w)), (x, h, *flat))


def test_several_layers_are_refused() -> None:
    with pytest.raises(ValueError, match="one layer"):
        gru_reset_first(torch.zeros(T, N, F), torch.zeros(2, N, H), [], True, 2, 0.0, False, False, False)
