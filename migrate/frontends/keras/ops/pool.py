"""Pooling. What SAME adds is never counted."""

from __future__ import annotations

from typing import Any

from migrate.frontends.keras.builder import KerasBuilder
from migrate.frontends.keras.ops.conv import padded, same_pads, spread
from migrate.frontends.keras.registry import keras_layer
from migrate.graph import Value

LOWEST = float("-inf")


def _windows(x: Value, pool_size: Any, strides: Any) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    rank = x.rank - 2
    size = spread(pool_size, rank)
    return rank, size, size if strides is None else spread(strides, rank)


@keras_layer("MaxPooling1D", "MaxPooling2D", "MaxPooling3D", layout="first")
def keras_max_pooling(
    b: KerasBuilder, x: Value, *, pool_size: Any, strides: Any = None, padding: str = "valid"
) -> Value:
    """The largest element of each window."""
    rank, size, steps = _windows(x, pool_size, strides)
    own: tuple[int, ...] = ()
    if padding == "same":
        pads = same_pads(x, size, steps, (1,) * rank)
        x, own = padded(b, x, pads, LOWEST)
    named = {"padding": own} if any(own) else {}
    return getattr(b, f"max_pool{rank}d")(x, size, steps, **named)


@keras_layer("AveragePooling1D", "AveragePooling2D", "AveragePooling3D", layout="first")
def keras_average_pooling(
    b: KerasBuilder, x: Value, *, pool_size: Any, strides: Any = None, padding: str = "valid"
) -> Value:
    """The mean of each window, over what lies inside of the image."""
    rank, size, steps = _windows(x, pool_size, strides)
    pool = getattr(b, f"avg_pool{rank}d")
    pads: list[Any] = same_pads(x, size, steps, (1,) * rank) if padding == "same" else [0] * 2 * rank
    if not any(isinstance(p, int) is False or p for p in pads):
        return pool(x, size, steps)
    alike = all(isinstance(p, int) for p in pads) and pads[::2] == pads[1::2]
    if alike:
        return pool(x, size, steps, padding=tuple(pads[::2][::-1]), count_include_pad=False)
    return b.padded_avg_pool(x, size, steps, tuple(pads), (0,) * 2 * rank, (1,) * rank, False)


def _global(x: Value) -> tuple[int, ...]:
    return tuple(range(2, x.rank))


@keras_layer("GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D", layout="first")
def keras_global_average_pooling(b: KerasBuilder, x: Value, *, keepdims: bool = False) -> Value:
    """The mean of each channel."""
    return b.mean(x, _global(x), keepdim=True) if keepdims else b.mean(x, _global(x))


@keras_layer("GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D", layout="first")
def keras_global_max_pooling(b: KerasBuilder, x: Value, *, keepdims: bool = False) -> Value:
    """The largest element of each channel."""
    return b.amax(x, _global(x), keepdim=True) if keepdims else b.amax(x, _global(x))
