"""Activations, and the softmax family with the two meanings of `axis` that its schema has had."""

from __future__ import annotations

import math
from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value

SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
ROUNDING = 1e-7  # an attribute this close to a constant of torch's is that constant, written with fewer digits


def activation(name: str, op: str, since: int = 1) -> None:
    """Register an activation without attributes; `consumed_inputs` was a hint of the first opset."""

    @onnx_op(name, since=since)
    def onnx_activation(b: OnnxBuilder, X: Value, *, consumed_inputs: Any = None) -> Value:
        del consumed_inputs
        return getattr(b, op)(X)


for _name, _op, _since in (
    ("Relu", "relu", 1),
    ("Sigmoid", "sigmoid", 1),
    ("Tanh", "tanh", 1),
    ("Softplus", "softplus", 1),
    ("Softsign", "softsign", 1),
    ("HardSwish", "hardswish", 14),
    ("Mish", "mish", 18),
):
    activation(_name, _op, _since)


@onnx_op("LeakyRelu")
def onnx_leaky_relu(b: OnnxBuilder, X: Value, *, alpha: float = 0.01, consumed_inputs: Any = None) -> Value:
    """The slope is a constant."""
    del consumed_inputs
    return b.leaky_relu(X, alpha)


@onnx_op("PRelu", learns=("slope",))
def onnx_prelu_1(b: OnnxBuilder, X: Value, slope: Value, *, consumed_inputs: Any = None) -> Value:
    """One slope, or one a channel: a vector was not yet that of the last axis."""
    del consumed_inputs
    if slope.rank == 1 and X.rank > 2 and slope.shape[0] == X.shape[1]:
        return b.prelu(X, slope)
    return onnx_prelu(b, X, slope)


@onnx_op("PRelu", since=7, learns=("slope",))
def onnx_prelu(b: OnnxBuilder, X: Value, slope: Value) -> Value:
    """One slope, or one a channel, is a `prelu`; any other broadcasts as ONNX says."""
    count = math.prod(slope.shape) if all(isinstance(s, int) for s in slope.shape) else 0
    channels = (1,) * (slope.rank - X.rank + 1) + (X.shape[1],) + (1,) * (X.rank - 2) if X.rank > 1 else ()
    if count == 1 or (channels and slope.shape in (channels, (1, *channels))):
        return b.prelu(X, b.reshape(slope, (count,)))
    return b.where(b.lt(X, 0.0), b.mul(slope, X), X)


@onnx_op("HardSigmoid")
def onnx_hard_sigmoid(
    b: OnnxBuilder, X: Value, *, alpha: float = 0.2, beta: float = 0.5, consumed_inputs: Any = None
) -> Value:
    """clamp(alpha * x + beta, 0, 1); torch's own is the one with alpha = 1/6."""
    del consumed_inputs
    if abs(alpha - 1 / 6) < ROUNDING and beta == 0.5:
        return b.hardsigmoid(X)
    return b.clamp(b.add(b.mul(X, alpha), beta), 0.0, 1.0)


@onnx_op("Elu")
def onnx_elu(b: OnnxBuilder, X: Value, *, alpha: float = 1.0, consumed_inputs: Any = None) -> Value:
    """Alpha scales the negative side."""
    del consumed_inputs
    return b.elu(X, alpha)


@onnx_op("Selu", since=6)
def onnx_selu(b: OnnxBuilder, X: Value, *, alpha: float = SELU_ALPHA, gamma: float = SELU_GAMMA) -> Value:
    """Other constants than the paper's are a scaled `elu`."""
    if abs(alpha - SELU_ALPHA) < ROUNDING and abs(gamma - SELU_GAMMA) < ROUNDING:
        return b.selu(X)
    return b.mul(b.elu(X, alpha), gamma)


@onnx_op("Selu", since=1)
def onnx_selu_1(
    b: OnnxBuilder, X: Value, *, alpha: float = 1.6732, gamma: float = 1.0507, consumed_inputs: Any = None
) -> Value:
    """The defaults had four digits."""
    del consumed_inputs
    return onnx_selu(b, X, alpha=alpha, gamma=gamma)


@onnx_op("Celu", since=12)
def onnx_celu(b: OnnxBuilder, X: Value, *, alpha: float = 1.0) -> Value:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    return b.celu(X, alpha)


@onnx_op("Gelu", since=20)
def onnx_gelu(b: OnnxBuilder, X: Value, *, approximate: str = "none") -> Value:
    """`tanh` or exact."""
    return b.gelu(X, approximate=approximate) if approximate != "none" else b.gelu(X)


@onnx_op("Swish", since=24)
def onnx_swish(b: OnnxBuilder, X: Value, *, alpha: float = 1.0) -> Value:
    """x * sigmoid(alpha * x)."""
    return b.silu(X) if alpha == 1 else b.mul(X, b.sigmoid(b.mul(X, alpha)))


@onnx_op("SwiGLU", since=28)
def onnx_swiglu(b: OnnxBuilder, A: Value, B: Value, *, alpha: float = 1.0) -> Value:
    """The gated input times its gate's Swish."""
    return b.mul(onnx_swish(b, A, alpha=alpha), B)


@onnx_op("ThresholdedRelu", since=10)
def onnx_thresholded_relu(b: OnnxBuilder, X: Value, *, alpha: float = 1.0) -> Value:
    """X where x > alpha, else 0."""
    return b.threshold(X, alpha, 0.0)


@onnx_op("Shrink", since=9)
def onnx_shrink(b: OnnxBuilder, input: Value, *, bias: float = 0.0, lambd: float = 0.5) -> Value:
    """Hard where the bias is 0, soft where it is the threshold, else in pieces."""
    if not input.is_float:
        raise Unsupported("Shrink of integers")
    if bias == 0:
        return b.hardshrink(input, lambd)
    if bias == lambd:
        return b.softshrink(input, lambd)
    inner = b.where(b.gt(input, lambd), b.sub(input, bias), 0.0)
    return b.where(b.lt(input, -lambd), b.add(input, bias), inner)


@onnx_op("Softmax", since=13)
def onnx_softmax(b: OnnxBuilder, input: Value, *, axis: int = -1) -> Value:
    """Over one axis."""
    return b.softmax(input, dim=axis)


@onnx_op("LogSoftmax", since=13)
def onnx_log_softmax(b: OnnxBuilder, input: Value, *, axis: int = -1) -> Value:
    """Over one axis."""
    return b.log_softmax(input, dim=axis)


@onnx_op("Hardmax", since=13)
def onnx_hardmax(b: OnnxBuilder, input: Value, *, axis: int = -1) -> Value:
    """1 at the first largest element, else 0."""
    hot = b.one_hot(b.argmax(input, axis, keepdim=False), input.shape[axis])
    last = input.rank - 1
    order = [i if i < axis % input.rank else i - 1 for i in range(input.rank)]
    order[axis % input.rank] = last
    return b.cast(b.permute(hot, tuple(order)) if axis % input.rank != last else hot, f"torch.{input.dtype}")


def over_trailing(b: OnnxBuilder, x: Value, axis: int, op: str) -> Value:
    """Before opset 13 the axes from `axis` on were taken as one."""
    start = axis % x.rank if x.rank else 0
    if all(size == 1 for size in x.shape[start + 1 :]):
        return getattr(b, op)(x, dim=start)
    flat = b.flatten(x, start)
    return b.reshape(getattr(b, op)(flat, dim=-1), x.shape)


@onnx_op("Softmax", since=1)
def onnx_softmax_1(b: OnnxBuilder, input: Value, *, axis: int = 1) -> Value:
    """Over all axes from `axis` on."""
    return over_trailing(b, input, axis, "softmax")


@onnx_op("LogSoftmax", since=1)
def onnx_log_softmax_1(b: OnnxBuilder, input: Value, *, axis: int = 1) -> Value:
    """Over all axes from `axis` on."""
    return over_trailing(b, input, axis, "log_softmax")


@onnx_op("Hardmax", since=1)
def onnx_hardmax_1(b: OnnxBuilder, input: Value, *, axis: int = 1) -> Value:
    """Over all axes from `axis` on."""
    start = axis % input.rank
    flat = b.flatten(input, start) if start < input.rank - 1 else input
    hot = onnx_hardmax(b, flat, axis=-1)
    return hot if flat is input else b.reshape(hot, input.shape)
