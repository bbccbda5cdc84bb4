"""Changing the resolution of images."""

from __future__ import annotations

from typing import Any

from migrate.frontends.tensorflow.builder import TensorflowBuilder, needs
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


@tf_op("ResizeNearestNeighbor", layout="first")
def tf_resize_nearest(
    b: TensorflowBuilder, images: Value, size: Value, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Value:
    """With whole factors every convention is the same; without, only one is torch's."""
    wanted = _size(b, images, size)
    if wanted is None:
        return images
    options = _scaled(images, wanted)
    needs(
        not align_corners and (not half_pixel_centers or "scale_factor" in options),
        "nearest neighbours by corners or halves",
    )
    return b.interpolate(images, mode="nearest", **options)


@tf_op("ResizeBilinear", layout="first")
def tf_resize_bilinear(
    b: TensorflowBuilder, images: Value, size: Value, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Value:
    """By corners, or by the centres of pixels."""
    wanted = _size(b, images, size)
    if wanted is None:
        return images
    if align_corners or half_pixel_centers:
        return b.interpolate(images, size=wanted, mode="bilinear", align_corners=align_corners)
    return b.resize(images, wanted, None, "linear", "asymmetric")
