"""The LSTM of ONNX Runtime's quantiser (`com.microsoft`): weights of 8 bits, inputs and states rounded before each product."""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.float_lstm import by_direction
from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.ops.contrib import MICROSOFT
from migrate.frontends.onnx.ops.quant import content, real
from migrate.frontends.onnx.ops.recurrent import LSTM_GATES, flat_weights, is_plain, layer_of, run_stepwise
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value


def gates_first(b: OnnxBuilder, x: Value, scale: Value, zero: Value) -> Value:
    """A weight of (D, I, 4H) as floats of (D, 4H, I).

    Raises:
        Unsupported: it is computed.
    """
    s, z = content(scale), content(zero)
    if x.weight is None or s is None or z is None:
        raise Unsupported("DynamicQuantizeLSTM of a computed weight")
    made = real(b, x, b.static(by_direction(s), "float32"), b.static(by_direction(z), zero.dtype))
    return b.permute(made, (0, 2, 1))


@onnx_op("DynamicQuantizeLSTM", domain=MICROSOFT, learns=("B",))
def microsoft_dynamic_quantize_lstm(
    b: OnnxBuilder,
    X: Value,
    W: Value,
    R: Value,
    B: Value | None = None,
    sequence_lens: Value | None = None,
    initial_h: Value | None = None,
    initial_c: Value | None = None,
    P: Value | None = None,
    W_scale: Any = None,  # given, as the rest: the order of the inputs asks for a default
    W_zero_point: Any = None,
    R_scale: Any = None,
    R_zero_point: Any = None,
    *,
    activation_alpha: Any = None,
    activation_beta: Any = None,
    activations: Any = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
) -> Any:
    """An LSTM whose inputs and states are rounded to 8 bits with the range they have."""
    del hidden_size
    w, r = gates_first(b, W, W_scale, W_zero_point), gates_first(b, R, R_scale, R_zero_point)
    layer = layer_of(
        b, X, r, flat_weights(b, w, r, B, LSTM_GATES), (initial_h, initial_c), sequence_lens,
        default=("Sigmoid", "Tanh", "Tanh"), direction=direction, activations=activations, alphas=activation_alpha,
        betas=activation_beta, clip=clip, layout=0,
    )  # fmt: skip
    if P is not None or input_forget or not is_plain(layer, ("sigmoid", "tanh", "tanh")):
        raise Unsupported("DynamicQuantizeLSTM with peepholes, lengths, clipping, coupled gates or other activations")
    return run_stepwise(b, "lstm", layer, rounded=True)
