"""Recurrent layers in the forms that torch has not: other activations, peepholes, clipped gates, samples of unlike lengths.

Weights come as one flat list in the order of `torch.nn.RNNBase`: for each direction (G * H, I), (G * H, H) and, where there are
biases, two of (G * H,). A loop over time that autograd goes through. Knows nothing of the source a model came from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .quant import round_dynamically

Activation = tuple[str | float, ...]
"""A name of `ACTIVATIONS` and the numbers that the function takes."""
State = tuple[Tensor, ...]
Step = Callable[[Tensor, State], State]

ACTIVATIONS: dict[str, Callable[..., Tensor]] = {
    "affine": lambda x, alpha, beta: alpha * x + beta,
    "elu": F.elu,
    "hard_sigmoid": lambda x, alpha, beta: (alpha * x + beta).clamp(0, 1),
    "leaky_relu": F.leaky_relu,
    "relu": F.relu,
    "scaled_tanh": lambda x, alpha, beta: alpha * (beta * x).tanh(),
    "sigmoid": torch.sigmoid,
    "softplus": F.softplus,
    "softsign": F.softsign,
    "tanh": torch.tanh,
    "thresholded_relu": lambda x, alpha: torch.where(x > alpha, x, 0.0),
}


def lstm(
    x: Tensor,
    hx: tuple[Tensor, Tensor] | None,
    weights: Sequence[Tensor],
    lengths: Tensor | None = None,
    peepholes: Sequence[Tensor] = (),
    *,
    backwards: Sequence[bool] = (False,),
    activations: Sequence[Activation] = (("sigmoid",), ("tanh",), ("tanh",)),
    clip: float | None = None,
    coupled: bool = False,
    rounded: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """An LSTM (Gers et al. 2002 where it has peepholes).

    Args:
        x: (T, N, I).
        hx: the first hidden and cell states, each (D, N, H); zeros where there are none.
        weights: gates input, forget, cell, output.
        lengths: (N,), how many steps of each sample count; all where there are none.
        peepholes: for each direction (3 * H,): how the gates input, forget, output see the cell.
        backwards: for each of the D directions, whether it reads time from the end.
        activations: those of the gates, of the new cell and of the output, for each direction or for all alike.
        clip: what the activations of gates and new cell take stays in -clip..clip.
        coupled: whether the forget gate is 1 - the input gate.
        rounded: whether inputs and states are rounded to 8 bits, with the range they have, before their products.

    Returns:
        The outputs (T, N, D * H), zero beyond a sample's length; the last hidden and cell states, each (D, N, H).
    """

    def step_of(direction: int, w_hh: Tensor, b_hh: Tensor | None) -> Step:
        gate, cell, out = _activations(activations, 3, direction)
        see = peepholes[direction].chunk(3) if peepholes else None

        def step(given: Tensor, state: State) -> State:
            h, c = state
            h = round_dynamically(h) if rounded else h
            i, f, new, o = (given + F.linear(h, w_hh, b_hh)).chunk(4, -1)
            i = gate(_bounded(i if see is None else i + see[0] * c, clip))
            f = 1 - i if coupled else gate(_bounded(f if see is None else f + see[1] * c, clip))
            c = f * c + i * cell(_bounded(new, clip))
            o = gate(_bounded(o if see is None else o + see[2] * c, clip))
            return o * out(c), c

        return step

    x = round_dynamically(x) if rounded else x
    y, h, c = _run(x, hx or (None, None), weights, lengths, backwards, step_of)
    return y, h, c


def gru(
    x: Tensor,
    hx: Tensor | None,
    weights: Sequence[Tensor],
    lengths: Tensor | None = None,
    *,
    backwards: Sequence[bool] = (False,),
    activations: Sequence[Activation] = (("sigmoid",), ("tanh",)),
    clip: float | None = None,
    reset_after: bool = True,
) -> tuple[Tensor, Tensor]:
    """A GRU.

    Args:
        x: (T, N, I).
        hx: the first states (D, N, H); zeros where there are none.
        weights: gates reset, update, new.
        lengths: as of `lstm`.
        backwards: as of `lstm`.
        activations: those of the gates and of the new state, for each direction or for all alike.
        clip: as of `lstm`.
        reset_after: whether the reset gate acts on the product of state and weight, as in torch, or on the state before it
            (Cho et al. 2014).

    Returns:
        The outputs (T, N, D * H) and the last states (D, N, H).
    """

    def step_of(direction: int, w_hh: Tensor, b_hh: Tensor | None) -> Step:
        gate, out = _activations(activations, 2, direction)
        size = w_hh.shape[-1]
        w_gates, w_new = w_hh.split((2 * size, size))
        b_gates, b_new = (None, None) if b_hh is None else b_hh.split((2 * size, size))

        def step(given: Tensor, state: State) -> State:
            (h,) = state
            gates, new = given.split((2 * size, size), -1)
            reset, update = gate(_bounded(gates + F.linear(h, w_gates, b_gates), clip)).chunk(2, -1)
            past = reset * F.linear(h, w_new, b_new) if reset_after else F.linear(reset * h, w_new, b_new)
            return ((1 - update) * out(_bounded(new + past, clip)) + update * h,)

        return step

    y, h = _run(x, (hx,), weights, lengths, backwards, step_of)
    return y, h


def rnn(
    x: Tensor,
    hx: Tensor | None,
    weights: Sequence[Tensor],
    lengths: Tensor | None = None,
    *,
    backwards: Sequence[bool] = (False,),
    activations: Sequence[Activation] = (("tanh",),),
    clip: float | None = None,
) -> tuple[Tensor, Tensor]:
    """A layer of Elman; arguments and what is returned as of `gru`, with one gate and one activation."""

    def step_of(direction: int, w_hh: Tensor, b_hh: Tensor | None) -> Step:
        (activation,) = _activations(activations, 1, direction)
        return lambda given, state: (activation(_bounded(given + F.linear(state[0], w_hh, b_hh), clip)),)

    y, h = _run(x, (hx,), weights, lengths, backwards, step_of)
    return y, h


def _activations(given: Sequence[Activation], count: int, direction: int) -> list[Callable[[Tensor], Tensor]]:
    start = count * direction % len(given)
    return [partial(_activate, ACTIVATIONS[str(name)], numbers) for name, *numbers in given[start : start + count]]


def _activate(function: Callable[..., Tensor], numbers: Sequence[Any], x: Tensor) -> Tensor:
    return function(x, *numbers)


def _bounded(x: Tensor, clip: float | None) -> Tensor:
    return x if clip is None else x.clamp(-clip, clip)


def _run(
    x: Tensor,
    hx: Sequence[Tensor | None],
    weights: Sequence[Tensor],
    lengths: Tensor | None,
    backwards: Sequence[bool],
    step_of: Callable[[int, Tensor, Tensor | None], Step],
) -> tuple[Tensor, ...]:
    """The outputs of all directions side by side, and their last states one above the other."""
    count = len(weights) // len(backwards)
    outputs: list[Tensor] = []
    states: list[State] = []
    for direction, backward in enumerate(backwards):
        w_ih, w_hh, *biases = weights[count * direction : count * (direction + 1)]
        b_ih, b_hh = biases or (None, None)
        zeros = x.new_zeros(x.shape[1], w_hh.shape[1])
        first = tuple(zeros if h is None else h[direction] for h in hx)
        y, last = _unroll(F.linear(x, w_ih, b_ih), first, step_of(direction, w_hh, b_hh), lengths, backward)
        outputs.append(y)
        states.append(last)
    return torch.cat(outputs, -1), *(torch.stack(part) for part in zip(*states, strict=True))


def _unroll(given: Tensor, state: State, step: Step, lengths: Tensor | None, backward: bool) -> tuple[Tensor, State]:
    """One direction. Beyond its length a sample keeps its state, so that one read backwards starts at its own end."""
    times = range(len(given))
    outputs: list[Tensor] = [given[:0]] * len(given)
    for t in reversed(times) if backward else times:
        new = step(given[t], state)
        if lengths is None:
            state = new
            outputs[t] = new[0]
        else:
            inside = (lengths > t).unsqueeze(-1)
            state = tuple(torch.where(inside, after, before) for after, before in zip(new, state, strict=True))
            outputs[t] = torch.where(inside, new[0], 0.0)
    return torch.stack(outputs), state
