"""Layers that draw random numbers while training."""

from __future__ import annotations

from typing import Any

from migrate.frontends.keras.builder import KerasBuilder
from migrate.frontends.keras.registry import Unsupported, keras_layer
from migrate.graph import Value


@keras_layer("Dropout", layout="any")
def keras_dropout(b: KerasBuilder, x: Value, *, rate: float, noise_shape: Any = None) -> Value:
    """One number for each sample, with a noise shape of ones after the batch, drops whole paths."""
    from migrate.graph import ByMode

    if noise_shape is None:
        return b.dropout(x, float(rate)) if rate else x
    if noise_shape[0] is not None or any(size != 1 for size in noise_shape[1:]):
        raise Unsupported(f"the noise shape {noise_shape}")
    return b.drop_path(x, float(rate), ByMode(True, False))


@keras_layer("SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", layout="first")
def keras_spatial_dropout(b: KerasBuilder, x: Value, *, rate: float) -> Value:
    """Whole channels."""
    return b.feature_dropout(x, float(rate), False) if rate else x


@keras_layer("AlphaDropout", layout="any")
def keras_alpha_dropout(b: KerasBuilder, x: Value, *, rate: float) -> Value:
    """For self-normalising networks."""
    return b.alpha_dropout(x, float(rate)) if rate else x
