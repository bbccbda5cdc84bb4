"""Changing the resolution of images. TensorFlow's cubic kernel is a table of 1,024 entries, which nothing here computes."""

from __future__ import annotations

from typing import Any

from migrate.frontends.tensorflow.builder import TensorflowBuilder
from migrate.frontends.tensorflow.registry import tf_op
from migrate.graph import Value
from migrate.graph.sizes import equal


def _size(b: TensorflowBuilder, images: Value, size: Value) -> tuple[Any, ...] | None:
    """The wanted size; None where it is the one there is."""
    wanted = tuple(b.numbers(size))
    return None if all(equal(w, s) for w, s in zip(wanted, images.shape[2:], strict=True)) else wanted


def _scaled(images: Value, wanted: tuple[Any, ...]) -> dict[str, Any]:
    """The wanted size, as factors where those are whole and the size is free."""
    factors = [w // s for w, s in zip(wanted, images.shape[2:], strict=True)]
    whole = all(
        isinstance(f, int) and f and equal(s * f, w) for f, s, w in zip(factors, images.shape[2:], wanted, strict=True)
    )  # pyright: ignore[reportOperatorIssue]
    return {"scale_factor": tuple(float(f) for f in factors)} if whole else {"size": wanted}


def _resized(b: TensorflowBuilder, images: Value, wanted: tuple[Any, ...], mode: str, rule: str, **extra: Any) -> Value:
    """By a rule that torch's own has not."""
    whole = (*images.shape[:2], *wanted)
    scales = (1.0, 1.0, *(w / s for w, s in zip(wanted, images.shape[2:], strict=True)))
    return b.resize(images, whole, scales, mode, rule, **extra)


@tf_op("ResizeNearestNeighbor", layout="first")
def tf_resize_nearest(
    b: TensorflowBuilder, images: Value, size: Value, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Value:
    """With whole factors torch's own is the same but for corners."""
    wanted = _size(b, images, size)
    if wanted is None:
        return images
    options = _scaled(images, wanted)
    if align_corners:
        return _resized(b, images, wanted, "nearest", "align_corners", nearest="round_prefer_ceil")
    if half_pixel_centers and "scale_factor" not in options:
        return _resized(b, images, wanted, "nearest", "tf_half_pixel_for_nn", nearest="floor")
    return b.interpolate(images, mode="nearest", **options)


@tf_op("ResizeBilinear", layout="first")
def tf_resize_bilinear(
    b: TensorflowBuilder, images: Value, size: Value, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Value:
    """By corners, or by the centres of pixels; older files by neither."""
    wanted = _size(b, images, size)
    if wanted is None:
        return images
    if align_corners or half_pixel_centers:
        return b.interpolate(images, size=wanted, mode="bilinear", align_corners=align_corners)
    return _resized(b, images, wanted, "linear", "asymmetric")
