"""Normalisations. Keras's momentum m is torch's 1 - m."""

from __future__ import annotations

from typing import Any

from migrate.frontends.keras.builder import KerasBuilder
from migrate.frontends.keras.registry import Unsupported, keras_layer
from migrate.graph import Step, Value


def _is_last(axis: Any, rank: int) -> bool:
    return (axis[0] if isinstance(axis, list) and len(axis) == 1 else axis) in (-1, rank - 1)  # pyright: ignore[reportUnknownArgumentType]


@keras_layer("BatchNormalization", variables=("gamma", "beta", "moving_mean", "moving_variance"), layout="first")
def keras_batch_normalization(
    b: KerasBuilder, x: Value, *, axis: Any = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True,
    scale: bool = True,
) -> Value:  # fmt: skip
    """A frozen one works in training as in evaluation. With gamma or beta alone, that one follows as arithmetic."""
    if not _is_last(axis, x.rank):
        raise Unsupported(f"axis {axis}")
    both = center and scale
    gamma, beta = (b.variable("gamma"), b.variable("beta")) if both else (None, None)
    mean, var = b.variable("moving_mean"), b.variable("moving_variance")
    frozen = b.frozen
    named = {} if frozen else {"training": False, "momentum": round(1 - momentum, 6)}
    norm = b.frozen_batch_norm if frozen else b.batch_norm
    made = norm(x, mean, var, gamma, beta, eps=epsilon, **named)
    shape = Step("reshape", (-1, *[1] * (x.rank - 2)))
    if scale and not both:
        return b.mul(made, b.variable("gamma", shape))
    return b.add(made, b.variable("beta", shape)) if center and not both else made


@keras_layer("LayerNormalization", variables=("gamma", "beta"))
def keras_layer_normalization(
    b: KerasBuilder, x: Value, *, axis: Any = -1, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
    rms_scaling: bool = False,
) -> Value:  # fmt: skip
    """Over the last axis."""
    if not _is_last(axis, x.rank) or rms_scaling or not (center and scale):
        raise Unsupported("an axis that is not the last, or without scale and centre")
    return b.layer_norm(x, (x.shape[-1],), b.variable("gamma"), b.variable("beta"), eps=epsilon)


@keras_layer("RMSNormalization", variables=("scale",))
def keras_rms_normalization(b: KerasBuilder, x: Value, *, axis: Any = -1, epsilon: float = 1e-6) -> Value:
    """Over the last axis."""
    if not _is_last(axis, x.rank):
        raise Unsupported(f"axis {axis}")
    return b.rms_norm(x, (x.shape[-1],), b.variable("scale"), epsilon)


@keras_layer("GroupNormalization", variables=("gamma", "beta"), layout="first")
def keras_group_normalization(
    b: KerasBuilder, x: Value, *, groups: int = 32, axis: Any = -1, epsilon: float = 1e-3, center: bool = True,
    scale: bool = True,
) -> Value:  # fmt: skip
    """With -1 groups, one for each channel."""
    if not _is_last(axis, x.rank) or not (center and scale):
        raise Unsupported("an axis that is not the last, or without scale and centre")
    groups = x.shape[1] if groups == -1 else groups  # pyright: ignore[reportAssignmentType]
    return b.group_norm(x, groups, b.variable("gamma"), b.variable("beta"), eps=epsilon)


@keras_layer("UnitNormalization", layout="any")
def keras_unit_normalization(b: KerasBuilder, x: Value, *, axis: Any = -1) -> Value:
    """To length one, along an axis."""
    if isinstance(axis, list) and len(axis) != 1:  # pyright: ignore[reportUnknownArgumentType]
        raise Unsupported("several axes")
    place: Any = axis[0] if isinstance(axis, list) else axis
    return b.normalize(x, 2.0, b.axis(int(place), x.rank))
