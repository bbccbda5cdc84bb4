"""Recurrent layers, all weights given as a flat list in the order of `torch.nn.RNNBase`."""

from collections.abc import Callable
from typing import Any

from migrate.graph.ops import declare


def one_step(function: Callable[..., Any], x: Any, hx: Any, weights: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """What the outputs are like, from the first step of time alone: the others are like it."""
    time = 1 if len(args) == 6 and args[5] is True else 0
    y, *states = function(x.narrow(time, 0, 1), hx, weights, *args, **kwargs)
    first, second = y.transpose(0, time).shape[1:]
    y = y.new_empty((x.shape[time], first, second)).transpose(0, time)
    return y, *states


for _name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
    declare(_name, f"torch:{_name}", learns=(2,), learns_attributes=(1,), shapes=one_step)
for _name in ("lstm", "gru", "rnn"):
    declare(
        f"stepwise_{_name}",
        f"runtime.functional.recurrent:{_name}",
        learns=(2, 4) if _name == "lstm" else (2,),
        learns_attributes=(1,),
        shapes=one_step,
    )
for _name in ("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"):
    declare(_name, f"torch:{_name}", learns=(2, 3, 4, 5), learns_attributes=(1,))
