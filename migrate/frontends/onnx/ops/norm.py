"""Normalisations. A momentum m of ONNX is torch's 1 - m."""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value


def batch_norm(
    b: OnnxBuilder, X: Value, scale: Value, B: Value, mean: Value, var: Value, epsilon: float, momentum: float
) -> Value:
    """The graph's op; the momentum, stored as a float32, is given back its few digits."""
    if not all(value.is_float for value in (X, scale, B, mean, var)):
        raise Unsupported("a BatchNormalization of integers")
    return b.batch_norm(X, mean, var, scale, B, training=False, momentum=round(1 - momentum, 6), eps=epsilon)


@onnx_op(
    "BatchNormalization",
    since=14,
    learns=("scale", "B"),
    arguments={"batch_norm": ("X", "input_mean", "input_var", "scale", "B")},
)
def onnx_batch_normalization(
    b: OnnxBuilder,
    X: Value,
    scale: Value,
    B: Value,
    input_mean: Value,
    input_var: Value,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
) -> Value:
    """Stays a module that follows train() and eval().

    A source that was exported in training mode becomes the same module; its statistics are not outputs of a module.
    """
    if training_mode and b.num_outputs > 1:
        raise Unsupported("BatchNormalization whose running statistics are outputs")
    return batch_norm(b, X, scale, B, input_mean, input_var, epsilon, momentum)


@onnx_op(
    "BatchNormalization", since=9, learns=("scale", "B"), arguments={"batch_norm": ("X", "mean", "var", "scale", "B")}
)
def onnx_batch_normalization_9(
    b: OnnxBuilder,
    X: Value,
    scale: Value,
    B: Value,
    mean: Value,
    var: Value,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
) -> Value:
    """Training was told by the number of outputs."""
    if b.num_outputs > 1:
        raise Unsupported("BatchNormalization whose running statistics are outputs")
    return batch_norm(b, X, scale, B, mean, var, epsilon, momentum)


@onnx_op(
    "BatchNormalization", since=1, learns=("scale", "B"), arguments={"batch_norm": ("X", "mean", "var", "scale", "B")}
)
def onnx_batch_normalization_1(
    b: OnnxBuilder,
    X: Value,
    scale: Value,
    B: Value,
    mean: Value,
    var: Value,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    is_test: int = 0,
    spatial: int = 1,
    consumed_inputs: Any = None,
) -> Value:
    """`spatial = 0` has statistics for every place, which is no batch normalisation of torch's."""
    del consumed_inputs, is_test  # exporters leave is_test at 0 in files made for inference
    if not spatial and X.rank > 2:
        raise Unsupported("BatchNormalization with statistics for every place (spatial = 0)")
    return onnx_batch_normalization_9(b, X, scale, B, mean, var, epsilon=epsilon, momentum=momentum)


def _is_all(value: Value, number: int) -> bool:
    weight = value.weight
    return weight is not None and weight.maker == "exporter" and bool((weight.array() == number).all())


@onnx_op(
    "InstanceNormalization", learns=("scale", "B"), arguments={"instance_norm": ("input", None, None, "scale", "B")}
)
def onnx_instance_normalization(
    b: OnnxBuilder, input: Value, scale: Value, B: Value, *, epsilon: float = 1e-5, consumed_inputs: Any = None
) -> Value:
    """Over the places of each channel of each sample; the ones and zeros of an exporter are no scale and no bias."""
    del consumed_inputs
    if _is_all(scale, 1) and _is_all(B, 0):
        return b.instance_norm(input, eps=epsilon)
    return b.instance_norm(input, None, None, scale, B, eps=epsilon)


def layer_norm(b: OnnxBuilder, x: Value, scale: Value, bias: Value | None, axis: int, epsilon: float) -> Value:
    """The graph's op; a scale or bias of another shape is applied after it."""
    shape = x.shape[axis % x.rank :]
    if scale.shape == shape and (bias is None or bias.shape == shape):
        return b.layer_norm(x, shape, scale, bias, eps=epsilon)
    y = b.mul(b.layer_norm(x, shape, eps=epsilon), scale)
    return y if bias is None else b.add(y, bias)


@onnx_op("LayerNormalization", since=17, learns=("Scale", "B"), arguments={"layer_norm": ("X", None, "Scale", "B")})
def onnx_layer_normalization(
    b: OnnxBuilder,
    X: Value,
    Scale: Value,
    B: Value | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Any:
    """Over the axes from `axis` on. The second and third output are the mean and the inverse of the deviation."""
    del stash_type  # the statistics are computed in float32, as everything here
    y = layer_norm(b, X, Scale, B, axis, epsilon)
    if b.num_outputs == 1:
        return y
    dims = tuple(range(axis % X.rank, X.rank))
    variance = b.var(X, dims, correction=0, keepdim=True)
    return y, b.mean(X, dims, keepdim=True), b.rsqrt(b.add(variance, epsilon))


@onnx_op("RMSNormalization", since=23, learns=("scale",))
def onnx_rms_normalization(
    b: OnnxBuilder, X: Value, scale: Value, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Value:
    """Over the axes from `axis` on; a scale of another shape is applied after it."""
    del stash_type
    shape = X.shape[axis % X.rank :]
    if scale.shape == shape:
        return b.rms_norm(X, shape, scale, eps=epsilon)
    return b.mul(b.rms_norm(X, shape, eps=epsilon), scale)


@onnx_op(
    "GroupNormalization", since=21, learns=("scale", "bias"), arguments={"group_norm": ("X", None, "scale", "bias")}
)
def onnx_group_normalization(
    b: OnnxBuilder,
    X: Value,
    scale: Value,
    bias: Value,
    *,
    num_groups: int,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Value:
    """Scale and bias for each channel."""
    del stash_type
    return b.group_norm(X, num_groups, scale, bias, eps=epsilon)


@onnx_op(
    "GroupNormalization", since=18, learns=("scale", "bias"), arguments={"group_norm": ("X", None, "scale", "bias")}
)
def onnx_group_normalization_18(
    b: OnnxBuilder, X: Value, scale: Value, bias: Value, *, num_groups: int, epsilon: float = 1e-5
) -> Value:
    """Scale and bias for each group, as opset 18 had them."""
    channels = X.shape[1]
    if scale.shape == (channels,):
        return b.group_norm(X, num_groups, scale, bias, eps=epsilon)
    y = b.group_norm(X, num_groups, eps=epsilon)
    per_channel = [b.repeat_interleave(v, channels // num_groups) for v in (scale, bias)]  # pyright: ignore[reportOperatorIssue]
    scale, bias = (b.reshape(v, (channels, *[1] * (X.rank - 2))) for v in per_channel)
    return b.add(b.mul(y, scale), bias)


@onnx_op("LRN")
def onnx_lrn(
    b: OnnxBuilder, X: Value, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Value:
    """Torch's own for an odd number of neighbours; an even one has its odd neighbour on the other side."""
    if size % 2:
        return b.local_response_norm(X, size, alpha=alpha, beta=beta, k=bias)
    return b.cross_channel_norm(X, size, alpha=alpha, beta=beta, bias=bias)


@onnx_op("LpNormalization")
def onnx_lp_normalization(b: OnnxBuilder, input: Value, *, axis: int = -1, p: int = 2) -> Value:
    """Divided by the norm; zeros stay zeros."""
    return b.lp_normalize(input, p, axis)


@onnx_op("MeanVarianceNormalization", since=9)
def onnx_mean_variance_normalization(b: OnnxBuilder, X: Value, *, axes: Any = (0, 2, 3)) -> Value:
    """(x - mean) / (standard deviation + 1e-9), as the function in the specification."""
    dims = tuple(axes)
    mean = b.mean(X, dims, keepdim=True)
    variance = b.sub(b.mean(b.square(X), dims, keepdim=True), b.square(mean))
    return b.div(b.sub(X, mean), b.add(b.sqrt(variance), 1e-9))
