"""Recurrent layers step by step: equal to torch's where torch has the form, and what is particular to the others."""

import pytest
import torch
from torch import Tensor, nn

from runtime.functional.recurrent import ACTIVATIONS, gru, lstm, rnn

T, N, F, H = 4, 3, 3, 5
BOTH = {"backwards": (False, True)}


def randn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64) * 0.5


def weights(gates: int, directions: int = 1) -> list[Tensor]:
    shapes = [(gates * H, F), (gates * H, H), (gates * H,), (gates * H,)] * directions
    return [randn(*shape, seed=i) for i, shape in enumerate(shapes)]


def test_an_lstm_is_torchs() -> None:
    x, hx, flat = randn(T, N, F), (randn(2, N, H, seed=1), randn(2, N, H, seed=2)), weights(4, 2)
    made = lstm(x, hx, flat, **BOTH)
    for ours, theirs in zip(made, torch.lstm(x, hx, flat, True, 1, 0.0, False, True, False), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_gru_is_torchs() -> None:
    x, h, flat = randn(T, N, F), randn(2, N, H, seed=1), weights(3, 2)
    made = gru(x, h, flat, **BOTH)
    for ours, theirs in zip(made, torch.gru(x, h, flat, True, 1, 0.0, False, True, False), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_an_rnn_is_torchs() -> None:
    x, h, flat = randn(T, N, F), randn(1, N, H, seed=1), weights(1)
    for ours, theirs in zip(
        rnn(x, h, flat), torch.rnn_tanh(x, h, flat, True, 1, 0.0, False, False, False), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def test_lengths_are_those_of_packed_sequences() -> None:
    """Outputs beyond a length are zero, the last state is that at the length, and backwards starts there."""
    x, hx, flat = randn(T, N, F), (randn(2, N, H, seed=1), randn(2, N, H, seed=2)), weights(4, 2)
    lengths = torch.tensor([2, 4, 1])
    made = lstm(x, hx, flat, lengths, **BOTH)
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
    layer = nn.LSTM(F, H, bidirectional=True, dtype=torch.float64)
    with torch.no_grad():
        for own, given in zip(layer.parameters(), flat, strict=True):
            own.copy_(given)
    y, (h, c) = layer(packed, hx)
    for ours, theirs in zip(made, (nn.utils.rnn.pad_packed_sequence(y)[0], h, c), strict=True):
        torch.testing.assert_close(ours, theirs.detach())


def test_a_sample_without_steps_keeps_its_state() -> None:
    y, last = gru(randn(T, N, F), randn(1, N, H, seed=1), weights(3), torch.tensor([0, T, T]))
    assert not y[:, 0].any()
    torch.testing.assert_close(last[0, 0], randn(1, N, H, seed=1)[0, 0])


def test_the_reset_gate_acts_before_the_product_or_after() -> None:
    """The two differ only in where the reset gate meets the weight of the new state."""
    x, h, flat = randn(T, N, F), randn(1, N, H, seed=1), weights(3)
    assert not torch.allclose(gru(x, h, flat)[0], gru(x, h, flat, reset_after=False)[0])
    flat[1][2 * H :], flat[3][2 * H :] = 0, 0
    torch.testing.assert_close(gru(x, h, flat)[0], gru(x, h, flat, reset_after=False)[0])


def test_peepholes_see_the_cell_before_and_after_its_step() -> None:
    """By hand, for one step: input and forget gate see the old cell, the output gate the new one."""
    x, hx, flat, see = (
        randn(1, N, F),
        (randn(1, N, H, seed=1), randn(1, N, H, seed=2)),
        weights(4),
        randn(3 * H, seed=9),
    )
    _, h, c = lstm(x, hx, flat, None, (see,))
    i, f, new, o = (x[0] @ flat[0].T + flat[2] + hx[0][0] @ flat[1].T + flat[3]).chunk(4, -1)
    p_i, p_f, p_o = see.chunk(3)
    cell = (f + p_f * hx[1][0]).sigmoid() * hx[1][0] + (i + p_i * hx[1][0]).sigmoid() * new.tanh()
    torch.testing.assert_close(c[0], cell)
    torch.testing.assert_close(h[0], (o + p_o * cell).sigmoid() * cell.tanh())


@pytest.mark.parametrize("lengths", [None, torch.tensor([2, 4, 1])], ids=["whole", "lengths"])
def test_gradients(lengths: Tensor | None) -> None:
    x, hx = (
        randn(T, N, F).requires_grad_(),
        (randn(1, N, H, seed=1).requires_grad_(), randn(1, N, H, seed=2).requires_grad_()),
    )
    flat, see = [w.requires_grad_() for w in weights(4)], randn(3 * H, seed=9).requires_grad_()

    def run(x: Tensor, h: Tensor, c: Tensor, see: Tensor, *flat: Tensor) -> tuple[Tensor, ...]:
        return lstm(x, (h, c), flat, lengths, (see,), backwards=(True,), clip=2.0, coupled=True)

    assert torch.autograd.gradcheck(run, (x, *hx, see, *flat))


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_gradients_of_activations(name: str) -> None:
    numbers = {"affine": (0.5, 0.1), "scaled_tanh": (0.5, 0.9), "hard_sigmoid": (0.2, 0.5), "elu": (0.7,)}
    numbers |= {"leaky_relu": (0.1,), "thresholded_relu": (0.3,)}
    function = ACTIVATIONS[name]
    x = randn(7, seed=3).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: function(x, *numbers.get(name, ())), (x,))
