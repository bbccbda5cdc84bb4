"""Pooling. What SAME adds is never counted."""

from __future__ import annotations

from typing import Any

from migrate.frontends.tensorflow.builder import TensorflowBuilder
from migrate.frontends.tensorflow.ops.conv import padded, pads_of, same_pads, spatial
from migrate.frontends.tensorflow.registry import tf_op
from migrate.graph import Value

LOWEST = float("-inf")


@tf_op("MaxPool", "MaxPool3D", layout="first")
def tf_max_pool(
    b: TensorflowBuilder, input: Value, *, ksize: Any, strides: Any, padding: str, explicit_paddings: Any = (),
    data_format: str = "NHWC",
) -> Value:  # fmt: skip
    """The largest element of each window."""
    rank = input.rank - 2
    size, steps = spatial(ksize, data_format), spatial(strides, data_format)
    pads = pads_of(input, padding, explicit_paddings, data_format, size, steps, (1,) * rank)
    x, own = padded(b, input, pads, LOWEST)
    return getattr(b, f"max_pool{rank}d")(x, size, steps, **({"padding": own} if any(own) else {}))


@tf_op("AvgPool", "AvgPool3D", layout="first")
def tf_avg_pool(
    b: TensorflowBuilder, value: Value, *, ksize: Any, strides: Any, padding: str, data_format: str = "NHWC"
) -> Value:
    """The mean of each window, over what lies inside of the image."""
    rank = value.rank - 2
    size, steps = spatial(ksize, data_format), spatial(strides, data_format)
    pool = getattr(b, f"avg_pool{rank}d")
    pads: list[Any] = same_pads(value, size, steps, (1,) * rank) if padding == "SAME" else [0] * 2 * rank
    if all(isinstance(p, int) and not p for p in pads):
        return pool(value, size, steps)
    if all(isinstance(p, int) for p in pads) and pads[::2] == pads[1::2]:
        return pool(value, size, steps, padding=tuple(pads[::2][::-1]), count_include_pad=False)
    return b.padded_avg_pool(value, size, steps, tuple(pads), (0,) * 2 * rank, (1,) * rank, False)
