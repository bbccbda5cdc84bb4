"""Normalisations. What the running statistics do follows from whether the two forms of the model agree about it."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.registry import aten_op
from migrate.graph import Builder, ByMode, Value


@aten_op("aten.batch_norm")
def aten_batch_norm(
    b: Builder, input: Value, weight: Value | None, bias: Value | None, running_mean: Value | None,
    running_var: Value | None, training: Any, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Value:  # fmt: skip
    """A layer that follows the mode; frozen, or on the batch's own statistics, where both forms say so."""
    del cudnn_enabled
    if running_mean is None or training is True:
        return b.batch_norm(input, running_mean, running_var, weight, bias, training=True, momentum=momentum, eps=eps)
    if not isinstance(training, ByMode):
        return b.frozen_batch_norm(input, running_mean, running_var, weight, bias, eps=eps)
    return b.batch_norm(input, running_mean, running_var, weight, bias, training=training, momentum=momentum, eps=eps)


@aten_op("aten.instance_norm")
def aten_instance_norm(
    b: Builder, input: Value, weight: Value | None, bias: Value | None, running_mean: Value | None,
    running_var: Value | None, use_input_stats: Any, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Value:  # fmt: skip
    """With running statistics, whether they are used follows the mode."""
    del cudnn_enabled
    return b.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats=use_input_stats, momentum=momentum, eps=eps
    )


@aten_op("aten.layer_norm")
def aten_layer_norm(
    b: Builder, input: Value, normalized_shape: Any, weight: Value | None = None, bias: Value | None = None,
    eps: float = 1e-5, cudnn_enable: bool = True,
) -> Value:  # fmt: skip
    """Over the last axes."""
    del cudnn_enable
    return b.layer_norm(input, tuple(normalized_shape), weight, bias, eps=eps)


@aten_op("aten.group_norm")
def aten_group_norm(
    b: Builder, input: Value, num_groups: int, weight: Value | None = None, bias: Value | None = None,
    eps: float = 1e-5, cudnn_enabled: bool = True,
) -> Value:  # fmt: skip
    """Over groups of channels."""
    del cudnn_enabled
    return b.group_norm(input, num_groups, weight, bias, eps=eps)


@aten_op("aten.rms_norm")
def aten_rms_norm(
    b: Builder, input: Value, normalized_shape: Any, weight: Value | None = None, eps: float | None = None
) -> Value:
    """Without a mean."""
    return b.rms_norm(input, tuple(normalized_shape), weight, eps=eps)


@aten_op("aten.norm.ScalarOpt_dim", "aten.norm.Scalar")
def aten_norm(b: Builder, self: Value, p: Any, dim: Any = None, keepdim: bool = False) -> Value:
    """The length of vectors."""
    return b.vector_norm(self, 2.0 if p is None else float(p), dim if dim is None else tuple(dim), keepdim)


@aten_op("aten.linalg_vector_norm")
def aten_vector_norm(
    b: Builder, self: Value, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Value:
    """The length of vectors."""
    kwargs = {} if dtype is None else {"dtype": dtype}
    return b.vector_norm(self, float(ord), dim if dim is None else tuple(dim), keepdim, **kwargs)


@aten_op("aten._weight_norm")
def aten_weight_norm(b: Builder, v: Value, g: Value, dim: int = 0) -> Value:
    """Direction and length of a weight, apart."""
    dims = tuple(k for k in range(v.rank) if k != dim % v.rank) if dim != -1 else None
    length = b.vector_norm(v, 2.0, dims, dims is not None)
    return b.mul(v, b.div(g, length))


# ---- as a program has them whose operators were decomposed: with the statistics that a backward pass would take


@aten_op("aten._native_batch_norm_legit_no_training")
def aten_native_batch_norm(
    b: Builder, input: Value, weight: Value | None, bias: Value | None, running_mean: Value, running_var: Value,
    momentum: float, eps: float,
) -> tuple[Value, None, None]:  # fmt: skip
    """Off in the form that was exported, so that it follows the mode."""
    mode = ByMode(True, False)
    return aten_batch_norm(b, input, weight, bias, running_mean, running_var, mode, momentum, eps), None, None


@aten_op("aten.native_layer_norm")
def aten_native_layer_norm(
    b: Builder, input: Value, normalized_shape: Any, weight: Value | None, bias: Value | None, eps: float
) -> tuple[Value, Value, Value]:
    """Over the last axes."""
    axes = tuple(range(-len(normalized_shape), 0))
    statistics = _statistics(b, b.detach(input), axes, eps, keepdim=True)  # no gradient flows through these
    return aten_layer_norm(b, input, normalized_shape, weight, bias, eps), *statistics


@aten_op("aten.native_group_norm")
def aten_native_group_norm(
    b: Builder, input: Value, weight: Value | None, bias: Value | None, n: Any, c: Any, hxw: Any, group: int, eps: float
) -> tuple[Value, Value, Value]:
    """Over groups of channels."""
    grouped = b.flatten(b.unflatten(input, 1, (group, -1)), 2)
    return aten_group_norm(b, input, group, weight, bias, eps), *_statistics(b, grouped, (-1,), eps, keepdim=False)


def _statistics(b: Builder, x: Value, axes: tuple[int, ...], eps: float, keepdim: bool) -> tuple[Value, Value]:
    spread = b.var(x, axes, correction=0, keepdim=keepdim)
    return b.mean(x, axes, keepdim=keepdim), b.rsqrt(b.add(spread, eps))
