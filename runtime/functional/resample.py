"""Resizing along each axis by any of the known rules for coordinates, weights and borders.

Where `torch.nn.functional.interpolate` has the same rule it is the better choice.
Knows nothing of the source a model came from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def resize(
    x: Tensor,
    sizes: Sequence[int],
    scales: Sequence[float],
    mode: str,
    coordinates: str,
    nearest: str = "round_prefer_floor",
    cubic_coeff: float = -0.75,
    exclude_outside: bool = False,
    antialias: bool = False,
    roi: Sequence[float] = (),
    outside_value: float = 0.0,
) -> Tensor:
    """Resize every axis whose size or region changes.

    Args:
        x: the tensor.
        sizes: new size of each axis.
        scales: new size over old, for each axis; may differ from the quotient of the whole sizes.
        mode: `nearest`, `linear` or `cubic`.
        coordinates: how a place in the result maps to one in `x`, see `source_places`.
        nearest: `round_prefer_floor`, `round_prefer_ceil`, `floor` or `ceil`.
        cubic_coeff: the constant of the cubic kernel.
        exclude_outside: weights outside of `x` are left out, and the others scaled up.
        antialias: the kernel widens when the result is smaller.
        roi: for a region, its starts and then its ends, one for each axis, between 0 and 1.
        outside_value: what a place outside of `x` gives, for a region.
    """
    rank = x.dim()
    for axis in range(rank):
        size, scale = x.shape[axis], scales[axis]
        region = (roi[axis], roi[rank + axis]) if roi else (0.0, 1.0)
        if sizes[axis] == size and scale == 1 and region == (0.0, 1.0):
            continue
        place = source_places(size, sizes[axis], scale, coordinates, region).to(x.device)
        if mode == "nearest":
            x = x.index_select(axis, nearest_places(place, size, nearest))
        else:
            first, weights = kernel(place, scale if antialias else 1.0, mode, cubic_coeff)
            x = weighted(x, axis, first, weights, exclude_outside)
        if coordinates == "tf_crop_and_resize":
            outside = (place < 0) | (place > size - 1)
            x = x.masked_fill(outside.reshape([-1 if i == axis else 1 for i in range(rank)]), outside_value)
    return x


def source_places(size: int, new_size: int, scale: float, coordinates: str, region: tuple[float, float]) -> Tensor:
    """For each place of the resized axis its place in the source, in float32 as engines compute it: ties depend on it.

    The rules are those of ONNX's Resize, opset 19: `half_pixel`, `half_pixel_symmetric`, `pytorch_half_pixel`, `align_corners`,
    `asymmetric`, `tf_half_pixel_for_nn`, and `tf_crop_and_resize`, which reads a region of the source.
    """
    place = torch.arange(new_size, dtype=torch.float32)
    if coordinates == "align_corners":
        return place * (size - 1) / (new_size - 1) if new_size > 1 else torch.zeros_like(place)
    if coordinates == "asymmetric":
        return place / scale
    if coordinates == "tf_half_pixel_for_nn":
        return (place + 0.5) / scale
    if coordinates == "tf_crop_and_resize":
        start, stop = region
        if new_size == 1:
            return torch.full_like(place, 0.5 * (start + stop) * (size - 1))
        return start * (size - 1) + place * (stop - start) * (size - 1) / (new_size - 1)
    if coordinates == "pytorch_half_pixel" and new_size == 1:
        return torch.zeros_like(place)
    shift = size / 2 * (1 - new_size / (scale * size)) if coordinates == "half_pixel_symmetric" else 0.0
    return shift + (place + 0.5) / scale - 0.5


def nearest_places(place: Tensor, size: int, nearest: str) -> Tensor:
    """The whole place nearest to each, by the rule for halves."""
    if nearest == "floor":
        whole = place.floor()
    elif nearest == "ceil":
        whole = place.ceil()
    else:
        whole = (place - 0.5).ceil() if nearest == "round_prefer_floor" else (place + 0.5).floor()
    return whole.long().clamp(0, size - 1)


def kernel(place: Tensor, scale: float, mode: str, cubic_coeff: float) -> tuple[Tensor, Tensor]:
    """For each place the first source place that counts, and the weights from there on, (places, taps)."""
    reach = 1 if mode == "linear" else 2
    shrink = min(scale, 1.0)
    before = 1 - math.floor(-reach / shrink) - 2
    taps = 2 * before + 2
    first = place.floor() - before
    distance = (first.unsqueeze(1) + torch.arange(taps, device=place.device) - place.unsqueeze(1)).abs() * shrink
    weights = (1 - distance).clamp(min=0) if mode == "linear" else cubic(distance, cubic_coeff)
    return first.long(), weights / weights.sum(1, keepdim=True) if shrink < 1 else weights


def cubic(distance: Tensor, a: float) -> Tensor:
    """The cubic convolution kernel with constant `a` (Keys 1981)."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return torch.where(distance <= 1, near, torch.where(distance < 2, far, torch.zeros_like(far)))


def weighted(x: Tensor, axis: int, first: Tensor, weights: Tensor, exclude_outside: bool) -> Tensor:
    """The weighted sum of neighbours along one axis; beyond the border the last element repeats, or counts nothing."""
    size, taps = x.shape[axis], weights.shape[1]
    places = first.unsqueeze(1) + torch.arange(taps, device=first.device)
    if exclude_outside:
        weights = weights * ((places >= 0) & (places < size))
        weights = weights / weights.sum(1, keepdim=True)
    shape = [-1 if i == axis else 1 for i in range(x.dim())]
    weights = weights.to(x.dtype)
    total = torch.zeros((), dtype=x.dtype, device=x.device)
    for tap in range(taps):
        total = total + x.index_select(axis, places[:, tap].clamp(0, size - 1)) * weights[:, tap].reshape(shape)
    return total
