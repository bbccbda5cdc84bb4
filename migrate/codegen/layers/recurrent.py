"""Recurrent layers as modules. Their weights come as one flat tuple, in the order of `torch.nn.RNNBase`."""

from __future__ import annotations

from typing import Any

from migrate.codegen.layers import Arg, Layer, layer, of_dtype, weight_of
from migrate.graph.ir import Node, Value

_SIGNATURE = "input hx params has_biases num_layers dropout train bidirectional batch_first"
_CONSTRUCTORS = {"lstm": ("nn.LSTM", 4), "gru": ("nn.GRU", 3), "rnn_tanh": ("nn.RNN", 1), "rnn_relu": ("nn.RNN", 1)}


def _is_zeros(value: Value) -> bool:
    """Whether a tensor is known to hold zeros, which is what a layer starts from when it is given no state."""
    node = value.node
    if node is None:
        return False
    return node.op.name in ("zeros_like", "new_zeros") or (node.op.name == "full" and node.args[1] == 0)


def names_of(num_layers: int, has_biases: bool, bidirectional: bool) -> list[str]:
    """What `torch.nn.RNNBase` calls its weights, in its order."""
    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh") if has_biases else ("weight_ih", "weight_hh")
    ways = ("", "_reverse") if bidirectional else ("",)
    return [f"{kind}_l{k}{way}" for k in range(num_layers) for way in ways for kind in kinds]


def stepwise_names(node: Node) -> dict[Value, str]:
    """The same names for the tensors of a layer that is a function call; none for any other node."""
    if not node.op.name.startswith("stepwise_"):
        return {}
    weights: tuple[Value, ...] = node.args[2]
    both = len(node.kwargs.get("backwards", (False,))) == 2
    names = names_of(1, len(weights) == (8 if both else 4), both)
    peepholes: tuple[Value, ...] = node.args[4] if len(node.args) > 4 else ()
    named = dict(zip(weights, names, strict=True))
    return named | dict(zip(peepholes, ("weight_peephole_l0", "weight_peephole_l0_reverse"), strict=False))


@layer("lstm", _SIGNATURE)
@layer("gru", _SIGNATURE)
@layer("rnn_tanh", _SIGNATURE)
@layer("rnn_relu", _SIGNATURE)
def recurrent(
    node: Node, input: Any, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any, train: Any,
    bidirectional: Any, batch_first: Any,
) -> Layer | None:  # fmt: skip
    """`nn.LSTM`, `nn.GRU`, `nn.RNN`."""
    del train
    constructor, gates = _CONSTRUCTORS[node.op.name]
    state: tuple[Value, ...] = tuple(hx) if isinstance(hx, tuple | list) else (hx,)
    names = names_of(num_layers, has_biases, bidirectional)
    weights: tuple[Value, ...] = tuple(params)
    if len(names) != len(weights) or not all(weight_of(w) for w in weights) or input.rank != 3:
        return None
    hidden = weights[0].shape[0]
    assert isinstance(hidden, int)
    if weights[1].shape[1] != hidden // gates:
        return None  # a projection
    args = (
        Arg("input_size", weights[0].shape[1], positional=True),
        Arg("hidden_size", hidden // gates, positional=True),
        Arg("num_layers", num_layers, 1),
        Arg("bias", has_biases, True),
        Arg("batch_first", batch_first, False),
        Arg("dropout", dropout, 0.0),
        Arg("bidirectional", bidirectional, False),
    )
    if node.op.name == "rnn_relu":
        args += (Arg("nonlinearity", "relu", "tanh"),)
    inputs = (input,) if all(_is_zeros(v) for v in state) else (input, *state)
    named = dict(zip(names, weights, strict=True))
    role = "rnn" if constructor == "nn.RNN" else node.op.name
    args += of_dtype(weights[0])
    return Layer(constructor=constructor, args=args, inputs=inputs, role=role, tensors=named, kind="recurrent")
