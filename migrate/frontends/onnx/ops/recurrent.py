"""Recurrent layers as torch has them: one flat list of weights, gates reordered, biases apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Step, Value, batch

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
LSTM_GATES = (0, 2, 3, 1)  # ONNX has input, output, forget, cell; torch input, forget, cell, output
GRU_GATES = (1, 0, 2)  # ONNX has update, reset, hidden; torch reset, update, hidden


def part(b: OnnxBuilder, value: Value, direction: int, rows: tuple[int, int], order: Any) -> Value:
    """The rows of one direction, gates reordered: another view of the weight, or of a tensor that is computed."""
    size = (rows[1] - rows[0]) // len(order)
    places = [gate * size + i for gate in order for i in range(size)]
    if value.weight is None:
        return b.index_select(b.select(value, 0, direction), 0, _places([rows[0] + p for p in places], b))
    weight = value.weight
    if value.shape[0] != 1:
        weight = weight.then(Step("slice", (0, direction, direction + 1)))
    weight = weight.then(Step("reshape", value.shape[1:]))
    if rows != (0, value.shape[1]):
        weight = weight.then(Step("slice", (0, *rows)))
    if places != list(range(len(places))):
        weight = weight.then(Step("take", (0, tuple(places))))
    shape: Any = (len(places), *value.shape[2:])
    return b.weight(value.name, value.dtype, weight, shape)


def _places(places: list[int], b: OnnxBuilder) -> Value:
    return b.static(np.array(places, dtype=object), "int64")


def flat_weights(b: OnnxBuilder, W: Value, R: Value, B: Value | None, order: Any) -> list[Value]:
    """For each direction W, R and the two biases, as `torch.nn.RNNBase` lists them."""
    rows: Any = W.shape[1]
    listed: list[Value] = []
    for direction in range(int(W.shape[0])):  # pyright: ignore[reportArgumentType]
        listed += [part(b, W, direction, (0, rows), order), part(b, R, direction, (0, rows), order)]
        if B is not None:
            listed += [part(b, B, direction, (half, half + rows), order) for half in (0, rows)]
    return listed


def state(b: OnnxBuilder, given: Value | None, like: Value, directions: int, hidden: Any) -> Value:
    """The initial state, zero where none is given, for every sample of the batch."""
    size = like.shape[1]
    if given is None:
        return b.full((directions, size, hidden), 0.0, dtype=f"torch.{like.dtype}")
    return batch.expand_to_batch(b, given, 1, size)


def check(b: OnnxBuilder, X: Value, sequence_lens: Value | None, clip: float | None, layout: int) -> None:
    """Refuse what torch's layers have not."""
    if clip is not None:
        raise Unsupported("a recurrent layer that clips its gates")
    if layout:
        raise Unsupported("a recurrent layer with the batch first (layout = 1)")
    if sequence_lens is not None and any(length != X.shape[0] for length in b.numbers(sequence_lens)):
        raise Unsupported("a recurrent layer over sequences of different lengths")


def activations_are(given: Any, wanted: tuple[str, ...], directions: int) -> bool:
    """Whether the activations are the usual ones."""
    return given is None or tuple(str(a).lower() for a in given) == wanted * directions


def run(b: OnnxBuilder, op: str, X: Value, states: tuple[Value, ...], weights: list[Value], direction: str) -> Any:
    """Call the layer and give its outputs in ONNX's layout: Y (T, D, N, H), then the last states (D, N, H)."""
    backwards = DIRECTIONS[direction]
    both = len(backwards) == 2
    hx = states if op == "lstm" else states[0]
    x = b.flip(X, (0,)) if backwards == (True,) else X
    with_bias = len(weights) == 4 * len(backwards)
    y, *last = getattr(b, op)(x, hx, tuple(weights), with_bias, 1, 0.0, False, both, False)
    y = b.flip(y, (0,)) if backwards == (True,) else y
    if not both:
        return b.unsqueeze(y, 1), *last
    split = b.reshape(y, (X.shape[0], X.shape[1], 2, -1))
    return b.permute(split, (0, 2, 1, 3)), *last


@onnx_op("LSTM", learns=("W", "R", "B"))
def onnx_lstm(
    b: OnnxBuilder,
    X: Value,
    W: Value,
    R: Value,
    B: Value | None = None,
    sequence_lens: Value | None = None,
    initial_h: Value | None = None,
    initial_c: Value | None = None,
    P: Value | None = None,
    *,
    activation_alpha: Any = None,
    activation_beta: Any = None,
    activations: Any = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
    layout: int = 0,
    output_sequence: int = 0,
) -> Any:
    """Without peepholes, clipping and other activations: torch's `lstm`."""
    del hidden_size, output_sequence, activation_alpha, activation_beta
    directions = len(DIRECTIONS[direction])
    if P is not None or input_forget or not activations_are(activations, ("sigmoid", "tanh", "tanh"), directions):
        raise Unsupported("an LSTM with peepholes, coupled gates or other activations")
    check(b, X, sequence_lens, clip, layout)
    hidden: Any = R.shape[2]
    states = tuple(state(b, given, X, directions, hidden) for given in (initial_h, initial_c))
    return run(b, "lstm", X, states, flat_weights(b, W, R, B, LSTM_GATES), direction)


@onnx_op("GRU", since=3, learns=("W", "R", "B"))
def onnx_gru(
    b: OnnxBuilder,
    X: Value,
    W: Value,
    R: Value,
    B: Value | None = None,
    sequence_lens: Value | None = None,
    initial_h: Value | None = None,
    *,
    activation_alpha: Any = None,
    activation_beta: Any = None,
    activations: Any = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
    output_sequence: int = 0,
) -> Any:
    """Torch's is the one with `linear_before_reset`."""
    del hidden_size, output_sequence, activation_alpha, activation_beta
    directions = len(DIRECTIONS[direction])
    if not activations_are(activations, ("sigmoid", "tanh"), directions):
        raise Unsupported("a GRU with other activations")
    check(b, X, sequence_lens, clip, layout)
    hx = state(b, initial_h, X, directions, R.shape[2])
    op = "gru" if linear_before_reset else "gru_reset_first"
    return run(b, op, X, (hx,), flat_weights(b, W, R, B, GRU_GATES), direction)


@onnx_op("RNN", learns=("W", "R", "B"))
def onnx_rnn(
    b: OnnxBuilder,
    X: Value,
    W: Value,
    R: Value,
    B: Value | None = None,
    sequence_lens: Value | None = None,
    initial_h: Value | None = None,
    *,
    activation_alpha: Any = None,
    activation_beta: Any = None,
    activations: Any = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    output_sequence: int = 0,
) -> Any:
    """With tanh or relu."""
    del hidden_size, output_sequence, activation_alpha, activation_beta
    directions = len(DIRECTIONS[direction])
    ops = {"rnn_tanh": ("tanh",), "rnn_relu": ("relu",)}
    op = next((op for op, names in ops.items() if activations_are(activations, names, directions)), None)
    if op is None:
        raise Unsupported("an RNN with other activations")
    check(b, X, sequence_lens, clip, layout)
    hx = state(b, initial_h, X, directions, R.shape[2])
    return run(b, op, X, (hx,), flat_weights(b, W, R, B, (0,)), direction)
