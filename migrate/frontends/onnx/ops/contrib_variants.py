"""Operators of ONNX Runtime (`com.microsoft`) that are the specification's, with the channels last or by an older name."""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.ops.contrib import MICROSOFT, microsoft_fused_matmul
from migrate.frontends.onnx.ops.index import onnx_gather_nd, onnx_range, onnx_trilu
from migrate.frontends.onnx.ops.pad import onnx_pad
from migrate.frontends.onnx.ops.pool import onnx_max_pool
from migrate.frontends.onnx.ops.quant import onnx_qlinear_conv
from migrate.frontends.onnx.ops.resample import onnx_grid_sample_16
from migrate.frontends.onnx.ops.shape import unsqueeze
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value

CHANNELS_FIRST, CHANNELS_LAST = (0, 3, 1, 2), (0, 2, 3, 1)


@onnx_op("TransposeMatMul", domain=MICROSOFT, learns=("A", "B"))
def microsoft_transpose_matmul(
    b: OnnxBuilder, A: Value, B: Value, *, alpha: float = 1.0, transA: int = 0, transB: int = 0
) -> Value:
    """The name of FusedMatMul before it had this one."""
    return microsoft_fused_matmul(b, A, B, alpha=alpha, transA=transA, transB=transB)


@onnx_op("Trilu", domain=MICROSOFT)
def microsoft_trilu(b: OnnxBuilder, X: Value, k: Value | None = None, *, upper: int = 1) -> Value:
    """As of opset 14."""
    return onnx_trilu(b, X, k, upper=upper)


@onnx_op("Range", domain=MICROSOFT)
def microsoft_range(b: OnnxBuilder, start: Value, limit: Value, delta: Value | None = None) -> Value:
    """As of opset 11; the step is 1 where it is not given."""
    return onnx_range(b, start, limit, b.static(1, start.dtype) if delta is None else delta)


@onnx_op("Pad", domain=MICROSOFT)
def microsoft_pad(
    b: OnnxBuilder, data: Value, pads: Value, value: Value | None = None, *, mode: str = "constant"
) -> Value:
    """As of opset 11."""
    return onnx_pad(b, data, pads, value, mode=mode)


@onnx_op("GatherND", domain=MICROSOFT)
def microsoft_gather_nd(b: OnnxBuilder, data: Value, indices: Value) -> Value:
    """As of opset 11."""
    return onnx_gather_nd(b, data, indices)


@onnx_op("GridSample", domain=MICROSOFT)
def microsoft_grid_sample(
    b: OnnxBuilder,
    X: Value,
    Grid: Value,
    *,
    align_corners: int = 0,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
) -> Value:
    """As of opset 16."""
    return onnx_grid_sample_16(b, X, Grid, align_corners=align_corners, mode=mode, padding_mode=padding_mode)


@onnx_op("ExpandDims", domain=MICROSOFT)
def microsoft_expand_dims(b: OnnxBuilder, X: Value, axis: Value) -> Value:
    """One more axis."""
    return unsqueeze(b, X, b.numbers(axis))


@onnx_op("Inverse", domain=MICROSOFT)
def microsoft_inverse(b: OnnxBuilder, X: Value) -> Value:
    """Of the last two axes."""
    return b.inv(X)


@onnx_op("CDist", domain=MICROSOFT)
def microsoft_cdist(b: OnnxBuilder, A: Value, B: Value, *, metric: str = "sqeuclidean") -> Value:
    """The distance of each row of `A` to each of `B`, or its square."""
    difference = b.sub(b.unsqueeze(A, 1), b.unsqueeze(B, 0))
    if metric == "sqeuclidean":
        return b.sum(b.square(difference), (-1,))
    if metric != "euclidean":
        raise Unsupported(f"CDist with the metric {metric!r}")
    return b.vector_norm(difference, dim=-1)


@onnx_op("NhwcMaxPool", domain=MICROSOFT)
def microsoft_nhwc_max_pool(
    b: OnnxBuilder,
    x: Value,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Any = None,
    kernel_shape: Any,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    """Of whole numbers; the floats beside them, through which gradients pass, are pooled too."""
    form = {"auto_pad": auto_pad, "ceil_mode": ceil_mode, "dilations": dilations, "kernel_shape": kernel_shape}
    form |= {"pads": pads, "strides": strides}

    def pooled(x: Value) -> Value:
        return b.permute(onnx_max_pool(b, b.permute(x, CHANNELS_FIRST), **form), CHANNELS_LAST)

    whole = pooled(x)
    if x in b.rounded:
        b.rounded[whole] = pooled(b.rounded[x])
    return b.marked(whole, b.kind(x))


@onnx_op("QLinearConv", domain=MICROSOFT)
def microsoft_qlinear_conv(
    b: OnnxBuilder,
    x: Value,
    x_scale: Value,
    x_zero_point: Value,
    w: Value,
    w_scale: Value,
    w_zero_point: Value,
    y_scale: Value,
    y_zero_point: Value,
    B: Value | None = None,
    *,
    auto_pad: str = "NOTSET",
    channels_last: int = 0,
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    """With the channels last or first; the weight has them first, as ever."""
    form = {"auto_pad": auto_pad, "dilations": dilations, "group": group, "kernel_shape": kernel_shape, "pads": pads}
    given = (x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B)
    if not channels_last:
        return onnx_qlinear_conv(b, x, *given, strides=strides, **form)
    y = onnx_qlinear_conv(b, permuted(b, x, CHANNELS_FIRST), *given, strides=strides, **form)
    return permuted(b, y, CHANNELS_LAST)


def permuted(b: OnnxBuilder, x: Value, order: tuple[int, ...]) -> Value:
    """Whole numbers and the floats beside them in another order of axes."""
    moved = b.marked(b.permute(x, order), b.kind(x))
    if x in b.rounded:
        b.rounded[moved] = b.permute(b.rounded[x], order)
    return moved
