"""Recurrent layers: as torch's own where those are the same function, else step by step; gates in torch's order either way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import InferenceError, Step, Value, batch
from migrate.graph.interpret import elements_of

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
LSTM_GATES = (0, 2, 3, 1)  # ONNX has input, output, forget, cell; torch input, forget, cell, output
PEEPHOLES = (0, 2, 1)  # ONNX has input, output, forget
GRU_GATES = (1, 0, 2)  # ONNX has update, reset, hidden; torch reset, update, hidden
ACTIVATIONS: dict[str, tuple[str, tuple[float | None, ...]]] = {
    "affine": ("affine", (None, None)),
    "elu": ("elu", (1.0,)),
    "hardsigmoid": ("hard_sigmoid", (0.2, 0.5)),
    "leakyrelu": ("leaky_relu", (0.01,)),
    "relu": ("relu", ()),
    "scaledtanh": ("scaled_tanh", (None, None)),
    "sigmoid": ("sigmoid", ()),
    "softplus": ("softplus", ()),
    "softsign": ("softsign", ()),
    "tanh": ("tanh", ()),
    "thresholdedrelu": ("thresholded_relu", (None,)),
}
"""The runtime's names, and the numbers where none are given (alpha, then beta): None where engines differ in them."""

USUAL = {"lstm": (("sigmoid",), ("tanh",), ("tanh",)), "gru": (("sigmoid",), ("tanh",)), "rnn": (("tanh",),)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A recurrent layer as its node gives it: the inputs and attributes that the three operators share."""

    X: Value
    weights: list[Value]
    states: tuple[Value, ...]
    from_zero: bool
    lengths: Value | None
    direction: str
    activations: tuple[Any, ...]
    clip: float | None
    batch_first: bool


def part(b: OnnxBuilder, value: Value, direction: int, rows: tuple[int, int], order: tuple[int, ...]) -> Value:
    """The rows of one direction, gates reordered: another view of a stored tensor, or a tensor that is computed."""
    size = (rows[1] - rows[0]) // len(order)
    places = np.array([rows[0] + gate * size + i for gate in order for i in range(size)])
    found = elements_of(value)
    stored = None if found is None else _stored(b, found[0], found[1][direction, places])
    if stored is not None:
        return stored
    own = b.select(value, 0, direction)
    return b.index_select(own, 0, b.static(places.astype(object), "int64"))


def _stored(b: OnnxBuilder, weights: list[Value], elements: Any) -> Value | None:
    """The weight of which these are rows, or columns, with the steps that lead to them; None where they are not."""
    start = 0
    for value in weights:
        size = int(np.prod(np.array(value.shape, dtype=int)))
        local = elements.reshape(len(elements), -1) - start
        start += size
        if local.min() < 0 or local.max() >= size or value.weight is None:
            continue
        width = local.shape[1]
        if np.array_equal(local, local[:, :1] + np.arange(width)) and not (local[:, 0] % width).any():
            steps, taken = [Step("reshape", (size // width, width))], local[:, 0] // width
        elif np.array_equal(local, local[:, :1] + np.arange(width) * (size // width)):
            steps, taken = [Step("reshape", (width, size // width)), Step("permute", (1, 0))], local[:, 0]
        else:
            return None
        weight = value.weight
        for step in (*steps, *_taken(taken, size // width), *[Step("reshape", elements.shape)] * (elements.ndim == 1)):
            weight = weight.then(step)
        return b.weight(value.name, value.dtype, weight, elements.shape)
    return None


def _taken(places: Any, size: int) -> list[Step]:
    first, count = int(places[0]), len(places)
    if not np.array_equal(places, np.arange(first, first + count)):
        return [Step("take", (0, tuple(places.tolist())))]
    return [Step("slice", (0, first, first + count))] if count != size else []


def flat_weights(b: OnnxBuilder, W: Value, R: Value, B: Value | None, order: tuple[int, ...]) -> list[Value]:
    """For each direction W, R and the two biases, as `torch.nn.RNNBase` lists them."""
    if W.rank != 3 or R.rank != 3:
        raise InferenceError(f"weights of the ranks {W.rank} and {R.rank}, where the operator has two of rank 3")
    rows: Any = W.shape[1]
    listed: list[Value] = []
    for direction in range(int(W.shape[0])):  # pyright: ignore[reportArgumentType]
        listed += [part(b, W, direction, (0, rows), order), part(b, R, direction, (0, rows), order)]
        if B is not None:
            listed += [part(b, B, direction, (half, half + rows), order) for half in (0, rows)]
    return listed


def activations_of(names: Any, alphas: Any, betas: Any, default: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
    """The activations with their numbers, which are consumed by those that take any, in order."""
    given = [iter(alphas or ()), iter(betas or ())]
    found: list[tuple[Any, ...]] = []
    for name in names or default:
        if name.lower() not in ACTIVATIONS:
            raise Unsupported(f"a recurrent layer with the activation {name!r}")
        ours, numbers = ACTIVATIONS[name.lower()]
        taken = tuple(next(kind, number) for kind, number in zip(given, numbers, strict=False))
        if None in taken:
            raise Unsupported(f"a recurrent layer with the activation {name!r} without its numbers")
        found.append((ours, *taken))
    return tuple(found)


def layer_of(
    b: OnnxBuilder, X: Value, R: Value, weights: list[Value], given: tuple[Value | None, ...], lengths: Value | None,
    *, default: tuple[str, ...], direction: str, activations: Any, alphas: Any, betas: Any, clip: float | None,
    layout: int,
) -> Layer:  # fmt: skip
    """Gather what the three operators share; states that are not given are zero for every sample."""
    if X.rank != 3:
        raise InferenceError(f"a sequence of rank {X.rank}, where the operator takes one of rank 3")
    backwards = DIRECTIONS[direction]
    time, rows = (1, 0) if layout else (0, 1)
    states: list[Value] = []
    for state in given:
        if state is None:
            states.append(b.new_zeros(X, (len(backwards), X.shape[rows], R.shape[2])))
        else:
            expanded = batch.expand_to_batch(b, state, rows, X.shape[rows])
            states.append(b.permute(expanded, (1, 0, 2)) if layout else expanded)
    if lengths is not None and _are(b, lengths, X.shape[time]):
        lengths = None
    made = activations_of(activations, alphas, betas, default * len(backwards))
    made = made[: len(default)] if made == made[: len(default)] * len(backwards) else made
    return Layer(
        X=X, weights=weights, states=tuple(states), from_zero=not any(given), lengths=lengths, direction=direction,
        activations=made, clip=clip, batch_first=bool(layout),
    )  # fmt: skip


def _are(b: OnnxBuilder, lengths: Value, size: Any) -> bool:
    """Whether every sample is known to have the whole length."""
    try:
        return all(length == size for length in b.numbers(lengths))
    except Unsupported:
        return False


def is_plain(layer: Layer, activations: tuple[str, ...]) -> bool:
    """Whether it is what torch's own layer computes, with these activations."""
    usual = tuple((name,) for name in activations)
    return layer.clip is None and layer.lengths is None and layer.activations == usual


def run_plain(b: OnnxBuilder, op: str, layer: Layer) -> Any:
    """Call torch's layer; it reads time backwards beside forwards only, so alone it is given a reversed one."""
    backwards = DIRECTIONS[layer.direction]
    both, alone = len(backwards) == 2, backwards == (True,)
    time = (1,) if layer.batch_first else (0,)
    x = b.flip(layer.X, time) if alone else layer.X
    hx = layer.states if op == "lstm" else layer.states[0]
    with_bias = len(layer.weights) == 4 * len(backwards)
    y, *last = getattr(b, op)(x, hx, tuple(layer.weights), with_bias, 1, 0.0, False, both, layer.batch_first)
    return in_onnx_layout(b, layer, b.flip(y, time) if alone else y, last)


def run_stepwise(b: OnnxBuilder, op: str, layer: Layer, peepholes: tuple[Value, ...] = (), **form: Any) -> Any:
    """Call the runtime's layer, which has time first."""
    x = b.permute(layer.X, (1, 0, 2)) if layer.batch_first else layer.X
    hx = None if layer.from_zero else layer.states if op == "lstm" else layer.states[0]
    optional: list[Any] = [layer.lengths] if layer.lengths is not None or peepholes else []
    optional += [peepholes] if peepholes else []
    backwards = DIRECTIONS[layer.direction]
    form |= {} if layer.clip is None else {"clip": layer.clip}
    form |= {} if layer.activations == USUAL[op] else {"activations": layer.activations}
    form |= {} if backwards == (False,) else {"backwards": backwards}
    y, *last = getattr(b, f"stepwise_{op}")(x, hx, tuple(layer.weights), *optional, **form)
    return in_onnx_layout(b, layer, b.permute(y, (1, 0, 2)) if layer.batch_first else y, last)


def in_onnx_layout(b: OnnxBuilder, layer: Layer, y: Value, last: list[Value]) -> Any:
    """Y as (T, D, N, H) and the last states as (D, N, H), or with the batch first (N, T, D, H) and (N, D, H)."""
    directions = len(DIRECTIONS[layer.direction])
    if directions == 1:
        y = b.unsqueeze(y, 2 if layer.batch_first else 1)
    else:
        split = b.reshape(y, (*layer.X.shape[:2], directions, -1))
        y = split if layer.batch_first else b.permute(split, (0, 2, 1, 3))
    return y, *(b.permute(state, (1, 0, 2)) if layer.batch_first else state for state in last)


@onnx_op("LSTM", learns=("W", "R", "B", "P"))
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
    del hidden_size, output_sequence
    layer = layer_of(
        b, X, R, flat_weights(b, W, R, B, LSTM_GATES), (initial_h, initial_c), sequence_lens,
        default=("Sigmoid", "Tanh", "Tanh"), direction=direction, activations=activations, alphas=activation_alpha,
        betas=activation_beta, clip=clip, layout=layout,
    )  # fmt: skip
    if P is None and not input_forget and is_plain(layer, ("sigmoid", "tanh", "tanh")):
        return run_plain(b, "lstm", layer)
    form = {"coupled": True} if input_forget else {}
    rows: Any = (0, 3 * R.shape[2])  # pyright: ignore[reportOperatorIssue]
    directions = range(len(DIRECTIONS[direction]) if P is not None else 0)
    peepholes = tuple(part(b, P, d, rows, PEEPHOLES) for d in directions)  # pyright: ignore[reportArgumentType]
    return run_stepwise(b, "lstm", layer, peepholes, **form)


@onnx_op("GRU", learns=("W", "R", "B"))
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
    del hidden_size, output_sequence
    layer = layer_of(
        b, X, R, flat_weights(b, W, R, B, GRU_GATES), (initial_h,), sequence_lens, default=("Sigmoid", "Tanh"),
        direction=direction, activations=activations, alphas=activation_alpha, betas=activation_beta, clip=clip,
        layout=layout,
    )  # fmt: skip
    if linear_before_reset and is_plain(layer, ("sigmoid", "tanh")):
        return run_plain(b, "gru", layer)
    return run_stepwise(b, "gru", layer, reset_after=bool(linear_before_reset))


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
    """With tanh or relu everywhere: torch's."""
    del hidden_size, output_sequence
    layer = layer_of(
        b, X, R, flat_weights(b, W, R, B, (0,)), (initial_h,), sequence_lens, default=("Tanh",), direction=direction,
        activations=activations, alphas=activation_alpha, betas=activation_beta, clip=clip, layout=layout,
    )  # fmt: skip
    plain = next((name for name in ("tanh", "relu") if is_plain(layer, (name,))), None)
    return run_plain(b, f"rnn_{plain}", layer) if plain else run_stepwise(b, "rnn", layer)
