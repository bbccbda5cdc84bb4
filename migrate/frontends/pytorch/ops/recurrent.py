"""Recurrent layers: the operators are torch's functions of the same names, with the weights as one list."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.registry import Unsupported, aten_op
from migrate.graph import Builder, ByMode, Value


def _recurrent(b: Builder, name: str, args: tuple[Any, ...]) -> Any:
    input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first = args
    if not isinstance(has_biases, bool):
        raise Unsupported("packed sequences", "pass padded sequences")
    rate = 0.0 if train is False else dropout  # off in both forms
    del train
    states = tuple(hx) if isinstance(hx, tuple | list) else hx
    mode = ByMode(True, False) if rate else False
    return getattr(b, name)(
        input, states, tuple(params), has_biases, num_layers, rate, mode, bidirectional, batch_first
    )


@aten_op("aten.lstm.input")
def aten_lstm(b: Builder, *args: Any) -> Any:
    """Output, last hidden state, last cell state."""
    return _recurrent(b, "lstm", args)


@aten_op("aten.gru.input")
def aten_gru(b: Builder, *args: Any) -> Any:
    """Output and last hidden state."""
    return _recurrent(b, "gru", args)


@aten_op("aten.rnn_tanh.input")
def aten_rnn_tanh(b: Builder, *args: Any) -> Any:
    """Output and last hidden state."""
    return _recurrent(b, "rnn_tanh", args)


@aten_op("aten.rnn_relu.input")
def aten_rnn_relu(b: Builder, *args: Any) -> Any:
    """Output and last hidden state."""
    return _recurrent(b, "rnn_relu", args)


@aten_op("aten.lstm_cell")
def aten_lstm_cell(
    b: Builder, input: Value, hx: Any, w_ih: Value, w_hh: Value, b_ih: Value | None = None, b_hh: Value | None = None
) -> Any:
    """One step of an LSTM."""
    return b.lstm_cell(input, tuple(hx), w_ih, w_hh, b_ih, b_hh)
