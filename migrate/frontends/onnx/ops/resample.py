"""Resizing and rearranging images: torch's `interpolate` where it has the very rule, else our own, which has them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Dim, Value
from migrate.graph.sizes import apply, at, equal

MODES = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}
TORCH_LINEAR = {3: "linear", 4: "bilinear", 5: "trilinear"}
LARGEST = 4096  # places up to which torch's float32 coordinates are held against whole ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How places map and what is read there; the names and defaults are those of ONNX's Resize."""

    mode: str
    coordinates: str
    nearest: str = "round_prefer_floor"
    cubic_coeff: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    roi: tuple[float, ...] = ()
    outside_value: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The result's size for each axis, the scale, whether the source gave scales, and whether old size times scale is new."""

    sizes: tuple[Any, ...]
    scales: tuple[Any, ...]
    by_scale: bool
    follows: bool


def full(values: Any, axes: Any, otherwise: list[Any]) -> list[Any]:
    """Values given for some axes, and `otherwise` for the rest."""
    whole = list(otherwise)
    for value, axis in zip(values, axes if axes is not None else range(len(values)), strict=True):
        whole[axis] = value
    return whole


def extent(b: OnnxBuilder, x: Value, scales: Value | None, sizes: Value | None, axes: Any, policy: str) -> Extent:
    """From scales or from sizes, of which an absent one may be an empty tensor."""
    if sizes is not None and sizes.shape != (0,):
        wanted = full(b.numbers(sizes), axes, list(x.shape))
        if x.rank and x.shape[0] == b.graph.batch and wanted[0] == b.declared_batch:
            wanted[0] = x.shape[0]
        factors: list[Any] = [1 if equal(n, s) else n / s for n, s in zip(wanted, x.shape, strict=True)]
        if policy == "stretch":
            return Extent(sizes=tuple(wanted), scales=tuple(factors), by_scale=False, follows=True)
        return _keep_aspect(x, factors, axes, policy)
    if scales is None or scales.shape == (0,):
        raise Unsupported("a Resize without scales and sizes")
    given: list[Any] = [float(s) if not isinstance(s, Dim) else s for s in b.numbers(scales)]
    factors = full(given, axes, [1.0] * x.rank)
    news = [_scaled(s, f) for s, f in zip(x.shape, factors, strict=True)]
    return Extent(sizes=tuple(news), scales=tuple(factors), by_scale=True, follows=_follow(x, news, factors))


def _follow(x: Value, sizes: list[Any], scales: list[Any]) -> bool:
    """Whether scale times size is whole at every size, so that all ways to compute a place agree."""
    return all(
        not isinstance(s, Dim) and (s == int(s) or (not isinstance(n, Dim) and n == m * s))
        for n, s, m in zip(sizes, scales, x.shape, strict=True)
    )


def _scaled(size: Any, factor: Any) -> Any:
    if not isinstance(factor, Dim) and factor == int(factor):
        return size * int(factor)
    product = size * factor
    return apply("floor", product)


def _keep_aspect(x: Value, factors: list[Any], axes: Any, policy: str) -> Extent:
    chosen = [i % x.rank for i in axes] if axes is not None else list(range(x.rank))
    if any(isinstance(factors[i], Dim) for i in chosen):
        raise Unsupported(f"keep_aspect_ratio_policy {policy!r} at sizes that are not known")
    factor = (min if policy == "not_larger" else max)(factors[i] for i in chosen)
    scales = [factor if i in chosen else 1 for i in range(x.rank)]
    sizes = [int(at(s, 0) * factor + 0.5) if i in chosen else s for i, s in enumerate(x.shape)]
    return Extent(sizes=tuple(sizes), scales=tuple(scales), by_scale=False, follows=_follow(x, sizes, scales))


def resampled(b: OnnxBuilder, x: Value, to: Extent, rule: Rule) -> Value:
    """The shortest call that says exactly this."""
    crop = rule.coordinates == "tf_crop_and_resize"
    if not crop and all(equal(n, s) for n, s in zip(to.sizes, x.shape, strict=True)) and all(f == 1 for f in to.scales):
        return x
    spatial = (
        3 <= x.rank <= 5 and x.is_float and all(equal(to.sizes[i], x.shape[i]) and to.scales[i] == 1 for i in (0, 1))
    )
    if spatial and (call := torch_call(x, to, rule)) is not None:
        return b.interpolate(x, **call)
    if rule.coordinates in ("align_corners", "tf_crop_and_resize") and not to.follows:
        raise Unsupported("a Resize whose scale gives a size that is not whole, with aligned corners: engines differ")
    if rule.mode == "nearest" and rule.coordinates == "half_pixel_symmetric" and rule.nearest in ("floor", "ceil"):
        raise Unsupported(
            "a nearest Resize of symmetric half pixels by floor or ceil, where rounding decides: engines differ"
        )
    if rule.mode != "nearest" and not x.is_float:
        raise Unsupported(f"a {rule.mode} Resize of {x.dtype}")
    fields = ("nearest", "cubic_coeff", "exclude_outside", "antialias", "roi", "outside_value")
    default = Rule(mode="", coordinates="")
    extra = {f: v for f in fields if (v := getattr(rule, f)) != getattr(default, f)}
    return b.resize(x, to.sizes, to.scales, rule.mode, rule.coordinates, **extra)


def torch_call(x: Value, to: Extent, rule: Rule) -> dict[str, Any] | None:
    """The arguments of `interpolate` for this rule, or None where it has another."""
    if rule.antialias or rule.exclude_outside:
        return None
    scales, sizes = to.scales[2:], to.sizes[2:]
    target: dict[str, Any] = {"scale_factor": tuple(scales)} if to.by_scale else {"size": tuple(sizes)}
    if any(isinstance(s, Dim) for s in scales) and to.by_scale:
        return None
    if rule.mode == "nearest":
        whole = all(not isinstance(s, Dim) and s == int(s) and whole_scale_is_exact(int(s)) for s in scales)
        same = rule.coordinates == "asymmetric" and rule.nearest == "floor"
        # every element repeated the same number of times is what the symmetric rules give too
        same |= rule.coordinates in ("half_pixel", "pytorch_half_pixel") and rule.nearest.startswith("round")
        return {**target, "mode": "nearest"} if whole and same else None
    if rule.mode == "cubic" and (x.rank != 4 or rule.cubic_coeff != -0.75):
        return None
    if not to.follows:
        return None
    mode = "bicubic" if rule.mode == "cubic" else TORCH_LINEAR[x.rank]
    if rule.coordinates == "align_corners":
        return {**target, "mode": mode, "align_corners": True}
    one = any(isinstance(s, int) and s == 1 for s in sizes)
    if rule.coordinates == "half_pixel" or (rule.coordinates == "pytorch_half_pixel" and not one):
        return {**target, "mode": mode, "align_corners": False}
    return None


def whole_scale_is_exact(scale: int) -> bool:
    """Whether floor(place * float32(1 / scale)), as torch computes it, is place // scale."""
    places = np.arange(LARGEST * scale)
    return bool((np.floor(places.astype("float32") * np.float32(1 / scale)) == places // scale).all())


@onnx_op("Resize", since=11)
def onnx_resize(
    b: OnnxBuilder,
    X: Value,
    roi: Value | None = None,
    scales: Value | None = None,
    sizes: Value | None = None,
    *,
    antialias: int = 0,
    axes: Any = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Value:
    """Later opsets added `antialias`, `axes` and `keep_aspect_ratio_policy` (18) and `half_pixel_symmetric` (19)."""
    region: tuple[float, ...] = ()
    if coordinate_transformation_mode == "tf_crop_and_resize" and roi is not None:
        given = b.numbers(roi)
        half = len(given) // 2
        region = (*full(given[:half], axes, [0.0] * X.rank), *full(given[half:], axes, [1.0] * X.rank))
    rule = Rule(
        mode=mode,
        coordinates=coordinate_transformation_mode,
        nearest=nearest_mode,
        cubic_coeff=cubic_coeff_a,
        exclude_outside=bool(exclude_outside),
        antialias=bool(antialias),
        roi=region,
        outside_value=extrapolation_value,
    )
    return resampled(b, X, extent(b, X, scales, sizes, axes, keep_aspect_ratio_policy), rule)


@onnx_op("Resize", since=10)
def onnx_resize_10(b: OnnxBuilder, X: Value, scales: Value, *, mode: str = "nearest") -> Value:
    """The same as Upsample, down-sampling allowed."""
    return onnx_upsample(b, X, scales, mode=mode)


@onnx_op("Upsample", since=9)
def onnx_upsample(b: OnnxBuilder, X: Value, scales: Value, *, mode: str = "nearest") -> Value:
    """Places are the quotient of place and scale."""
    rule = Rule(mode=MODES.get(mode, mode), coordinates="asymmetric", nearest="floor")
    return resampled(b, X, extent(b, X, scales, None, None, "stretch"), rule)


@onnx_op("Upsample", since=7)
def onnx_upsample_7(b: OnnxBuilder, X: Value, *, scales: Any, mode: str = "nearest") -> Value:
    """Scales are an attribute."""
    return onnx_upsample(b, X, b.static(list(scales), "float32"), mode=mode)


@onnx_op("Upsample", since=1)
def onnx_upsample_1(
    b: OnnxBuilder, X: Value, *, height_scale: float, width_scale: float, mode: str = "nearest"
) -> Value:
    """The scales of the last two axes, each an attribute."""
    return onnx_upsample_7(b, X, scales=(1.0, 1.0, height_scale, width_scale), mode=mode)


@onnx_op("DepthToSpace")
def onnx_depth_to_space(b: OnnxBuilder, input: Value, *, blocksize: int, mode: str = "DCR") -> Value:
    """CRD is torch's `pixel_shuffle`; DCR has the block outside the channels."""
    if mode == "CRD":
        return b.pixel_shuffle(input, blocksize)
    n, c, h, w = input.shape
    x = b.reshape(input, (n, blocksize, blocksize, at(c, 0) // blocksize**2, h, w))
    x = b.permute(x, (0, 3, 4, 1, 5, 2))
    return b.reshape(x, (n, at(c, 0) // blocksize**2, h * blocksize, w * blocksize))


@onnx_op("SpaceToDepth")
def onnx_space_to_depth(b: OnnxBuilder, input: Value, *, blocksize: int, mode: str = "DCR") -> Value:
    """CRD is torch's `pixel_unshuffle`; DCR has the block outside the channels."""
    if mode == "CRD":
        return b.pixel_unshuffle(input, blocksize)
    n, c, h, w = input.shape
    x = b.reshape(input, (n, c, h // blocksize, blocksize, w // blocksize, blocksize))
    x = b.permute(x, (0, 3, 5, 1, 2, 4))
    return b.reshape(x, (n, c * blocksize**2, h // blocksize, w // blocksize))


SAMPLING = {"linear": "bilinear", "cubic": "bicubic"}


@onnx_op("GridSample", since=16)
def onnx_grid_sample_16(
    b: OnnxBuilder,
    X: Value,
    grid: Value,
    *,
    align_corners: int = 0,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
) -> Value:
    """The modes had torch's names."""
    return onnx_grid_sample(b, X, grid, align_corners=align_corners, mode=mode, padding_mode=padding_mode)


@onnx_op("GridSample", since=20)
def onnx_grid_sample(
    b: OnnxBuilder, X: Value, grid: Value, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> Value:
    """Torch's own, with two other words."""
    method = SAMPLING.get(mode, mode)
    if X.rank > 5 or (X.rank == 5 and method == "bicubic"):
        raise Unsupported(f"GridSample of rank {X.rank} with mode {mode!r}")
    return b.grid_sample(X, grid, mode=method, padding_mode=padding_mode, align_corners=bool(align_corners))


@onnx_op("AffineGrid", since=20)
def onnx_affine_grid(b: OnnxBuilder, theta: Value, size: Value, *, align_corners: int = 0) -> Value:
    """Torch's own."""
    return b.affine_grid(theta, tuple(b.numbers(size)), align_corners=bool(align_corners))
