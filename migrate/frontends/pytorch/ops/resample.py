"""Changing the resolution of images and signals."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.registry import Unsupported, aten_op
from migrate.graph import Builder, Value

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _interpolate(b: Builder, x: Value, size: Any, scales: Any, **named: Any) -> Value:
    if scales is not None and any(s is not None for s in scales):
        factors = tuple(float(s) for s in scales)
        return b.interpolate(x, scale_factor=factors[0] if len(set(factors)) == 1 else factors, **named)
    return b.interpolate(x, size=tuple(size), **named)


@aten_op("aten.upsample_nearest1d.vec", "aten.upsample_nearest2d.vec", "aten.upsample_nearest3d.vec")
def aten_upsample_nearest(b: Builder, input: Value, output_size: Any, scale_factors: Any) -> Value:
    """By the nearest element."""
    return _interpolate(b, input, output_size, scale_factors)


@aten_op(
    "aten._upsample_nearest_exact1d.vec", "aten._upsample_nearest_exact2d.vec", "aten._upsample_nearest_exact3d.vec"
)
def aten_upsample_nearest_exact(b: Builder, input: Value, output_size: Any, scale_factors: Any) -> Value:
    """By the nearest element, counted from the middle of a pixel."""
    return _interpolate(b, input, output_size, scale_factors, mode="nearest-exact")


def _smooth(b: Builder, mode: str, x: Value, size: Any, align_corners: bool, scales: Any, **named: Any) -> Value:
    return _interpolate(b, x, size, scales, mode=mode, align_corners=align_corners, **named)


@aten_op("aten.upsample_linear1d.vec")
def aten_upsample_linear(b: Builder, input: Value, output_size: Any, align_corners: bool, scale_factors: Any) -> Value:
    """Linear, over one axis."""
    return _smooth(b, "linear", input, output_size, align_corners, scale_factors)


@aten_op("aten.upsample_bilinear2d.vec")
def aten_upsample_bilinear(
    b: Builder, input: Value, output_size: Any, align_corners: bool, scale_factors: Any
) -> Value:
    """Linear, over two axes."""
    return _smooth(b, "bilinear", input, output_size, align_corners, scale_factors)


@aten_op("aten.upsample_trilinear3d.vec")
def aten_upsample_trilinear(
    b: Builder, input: Value, output_size: Any, align_corners: bool, scale_factors: Any
) -> Value:
    """Linear, over three axes."""
    return _smooth(b, "trilinear", input, output_size, align_corners, scale_factors)


@aten_op("aten.upsample_bicubic2d.vec")
def aten_upsample_bicubic(b: Builder, input: Value, output_size: Any, align_corners: bool, scale_factors: Any) -> Value:
    """Cubic."""
    return _smooth(b, "bicubic", input, output_size, align_corners, scale_factors)


@aten_op("aten._upsample_bilinear2d_aa.vec")
def aten_upsample_bilinear_aa(
    b: Builder, input: Value, output_size: Any, align_corners: bool, scale_factors: Any
) -> Value:
    """Linear, against aliasing."""
    return _smooth(b, "bilinear", input, output_size, align_corners, scale_factors, antialias=True)


@aten_op("aten._upsample_bicubic2d_aa.vec")
def aten_upsample_bicubic_aa(
    b: Builder, input: Value, output_size: Any, align_corners: bool, scale_factors: Any
) -> Value:
    """Cubic, against aliasing."""
    return _smooth(b, "bicubic", input, output_size, align_corners, scale_factors, antialias=True)


@aten_op("aten.grid_sampler", "aten.grid_sampler_2d", "aten.grid_sampler_3d")
def aten_grid_sampler(
    b: Builder, input: Value, grid: Value, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Value:
    """Samples at given places."""
    mode, padding = _MODES[interpolation_mode], _PADDINGS[padding_mode]
    return b.grid_sample(input, grid, mode=mode, padding_mode=padding, align_corners=align_corners)


@aten_op("aten.affine_grid_generator")
def aten_affine_grid(b: Builder, theta: Value, size: Any, align_corners: bool) -> Value:
    """The places of an affine map."""
    return b.affine_grid(theta, tuple(size), align_corners=align_corners)


@aten_op("aten.upsample_nearest2d.default", "aten.upsample_bilinear2d.default", "aten.upsample_bicubic2d.default")
def aten_upsample_decomposed(b: Builder, *args: Any, **named: Any) -> Value:
    """The form of a program whose operators were decomposed."""
    raise Unsupported("the program was decomposed after export", "export it with torch.export.export alone")
