"""Images read at places that are computed."""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.ops.elementwise import cast
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value


@onnx_op("RoiAlign", since=16)
def onnx_roi_align(
    b: OnnxBuilder,
    X: Value,
    rois: Value,
    batch_indices: Value,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Value:
    """How many samples a cell has must be given: where it is not, it depends on the regions, which are data."""
    if sampling_ratio <= 0:
        raise Unsupported("RoiAlign with a number of samples that depends on the size of each region")
    half, place = coordinate_transformation_mode == "half_pixel", cast(b, batch_indices, "int64")
    return b.roi_align(X, rois, place, (output_height, output_width), sampling_ratio, spatial_scale, half, mode)


@onnx_op("RoiAlign", since=10)
def onnx_roi_align_10(
    b: OnnxBuilder,
    X: Value,
    rois: Value,
    batch_indices: Value,
    *,
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Value:
    """A pixel's place was its corner."""
    form = {"output_height": output_height, "output_width": output_width, "sampling_ratio": sampling_ratio}
    named = {"coordinate_transformation_mode": "output_half_pixel", "mode": mode, "spatial_scale": spatial_scale}
    return onnx_roi_align(b, X, rois, batch_indices, **form, **named)


@onnx_op("DeformConv", since=19, learns=("W", "B"))
def onnx_deform_conv(
    b: OnnxBuilder,
    X: Value,
    W: Value,
    offset: Value,
    B: Value | None = None,
    mask: Value | None = None,
    *,
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    offset_group: int = 1,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    """Of images; the pads at the end only tell the size, which the offsets have."""
    del kernel_shape  # the weight has it
    if X.rank != 4:
        raise Unsupported(f"DeformConv of rank {X.rank}")
    before = tuple(pads[:2]) if pads else (0, 0)
    return b.deform_conv(X, W, offset, B, mask, strides or (1, 1), before, dilations or (1, 1), group, offset_group)
