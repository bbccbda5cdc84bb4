"""Layers that change the resolution."""

from __future__ import annotations

from typing import Any

from migrate.frontends.keras.builder import KerasBuilder
from migrate.frontends.keras.ops.conv import spread
from migrate.frontends.keras.registry import Unsupported, keras_layer
from migrate.graph import Value


@keras_layer("UpSampling1D", "UpSampling2D", "UpSampling3D", layout="first")
def keras_up_sampling(b: KerasBuilder, x: Value, *, size: Any, interpolation: str = "nearest") -> Value:
    """By whole factors."""
    factors = tuple(float(f) for f in spread(size, x.rank - 2))
    if interpolation == "nearest":
        return b.interpolate(x, scale_factor=factors, mode="nearest")
    if interpolation != "bilinear":
        raise Unsupported(f"the interpolation {interpolation!r}")
    return b.interpolate(x, scale_factor=factors, mode="bilinear", align_corners=False)
