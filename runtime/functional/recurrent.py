"""Recurrent layers that torch has not, called as torch's own are.

Knows nothing of the source a model came from.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


def gru_reset_first(
    x: Tensor,
    hx: Tensor,
    weights: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor]:
    """A GRU whose reset gate acts on the state before its product with the weight (Cho et al. 2014), not after as torch's.

    Args:
        x: (T, N, I).
        hx: (D, N, H).
        weights: for each direction (3H, I), (3H, H) and, where `has_biases`, two of (3H,); gates reset, update, new.
        has_biases: whether the two biases are there.
        num_layers: 1.
        dropout: 0; it acts between layers.
        train: without effect.
        bidirectional: whether D is 2.
        batch_first: False.

    Returns:
        The outputs (T, N, D * H) and the last states (D, N, H).
    """
    if num_layers != 1 or dropout or batch_first:
        raise ValueError("one layer, without dropout, time first")
    del train
    per_direction = 4 if has_biases else 2
    outputs: list[Tensor] = []
    states: list[Tensor] = []
    for direction in range(2 if bidirectional else 1):
        own = weights[direction * per_direction : (direction + 1) * per_direction]
        y = _one_direction(x.flip(0) if direction else x, hx[direction], *own)
        states.append(y[-1])
        outputs.append(y.flip(0) if direction else y)
    return torch.cat(outputs, -1), torch.stack(states)


def _one_direction(
    x: Tensor, h: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    size = h.shape[-1]
    gates_in, new_in = F.linear(x, w_ih, b_ih).split((2 * size, size), -1)
    w_gates, w_new = w_hh.split((2 * size, size))
    b_gates, b_new = (None, None) if b_hh is None else b_hh.split((2 * size, size))
    steps: list[Tensor] = []
    for gate_in, candidate_in in zip(gates_in.unbind(0), new_in.unbind(0), strict=True):
        reset, update = (gate_in + F.linear(h, w_gates, b_gates)).sigmoid().chunk(2, -1)
        new = (candidate_in + F.linear(reset * h, w_new, b_new)).tanh()
        h = (1 - update) * new + update * h
        steps.append(h)
    return torch.stack(steps)
