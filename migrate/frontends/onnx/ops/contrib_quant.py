"""Quantised operators of ONNX Runtime (`com.microsoft`): computed on what the numbers stand for."""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.float_weights import SUFFIX, from_blocks
from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.ops.contrib import MICROSOFT
from migrate.frontends.onnx.ops.elementwise import cast
from migrate.frontends.onnx.ops.matmul import onnx_matmul
from migrate.frontends.onnx.ops.pool import onnx_average_pool
from migrate.frontends.onnx.ops.quant import (
    coded,
    content,
    onnx_dequantize_linear,
    onnx_dynamic_quantize_linear,
    onnx_quantize_linear,
    product,
    real,
    told,
)
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value

onnx_op("QuantizeLinear", domain=MICROSOFT)(onnx_quantize_linear)
onnx_op("DequantizeLinear", domain=MICROSOFT)(onnx_dequantize_linear)


def kind_of(b: OnnxBuilder, zero: Value | None) -> str:
    """The type to which is rounded: the zero point's."""
    return "uint8" if zero is None else b.kind(zero)


def pairwise(name: str, op: str) -> None:
    """Register a quantised operator of two tensors."""

    @onnx_op(name, domain=MICROSOFT)
    def microsoft_qlinear_pairwise(
        b: OnnxBuilder,
        A: Value,
        A_scale: Value,
        A_zero_point: Value | None = None,
        B: Any = None,  # given: the order of the inputs asks for a default
        B_scale: Any = None,
        B_zero_point: Value | None = None,
        C_scale: Any = None,
        C_zero_point: Value | None = None,
    ) -> Value:
        y = getattr(b, op)(real(b, A, A_scale, A_zero_point), real(b, B, B_scale, B_zero_point))
        return coded(b, y, C_scale, C_zero_point, kind_of(b, C_zero_point))


pairwise("QLinearAdd", "add")
pairwise("QLinearMul", "mul")


@onnx_op("QLinearSigmoid", domain=MICROSOFT)
def microsoft_qlinear_sigmoid(
    b: OnnxBuilder,
    X: Value,
    X_scale: Value,
    X_zero_point: Value | None = None,
    Y_scale: Any = None,
    Y_zero_point: Value | None = None,
) -> Value:
    """The sigmoid of what the numbers stand for."""
    return coded(b, b.sigmoid(real(b, X, X_scale, X_zero_point)), Y_scale, Y_zero_point, kind_of(b, Y_zero_point))


@onnx_op("QLinearLeakyRelu", domain=MICROSOFT)
def microsoft_qlinear_leaky_relu(
    b: OnnxBuilder,
    X: Value,
    X_scale: Value,
    X_zero_point: Value | None = None,
    Y_scale: Any = None,
    Y_zero_point: Value | None = None,
    *,
    alpha: float = 0.01,
) -> Value:
    """The activation of what the numbers stand for."""
    y = b.leaky_relu(real(b, X, X_scale, X_zero_point), alpha)
    return coded(b, y, Y_scale, Y_zero_point, kind_of(b, Y_zero_point))


@onnx_op("QLinearSoftmax", domain=MICROSOFT)
def microsoft_qlinear_softmax(
    b: OnnxBuilder,
    X: Value,
    X_scale: Value,
    x_zero_point: Value | None = None,
    y_scale: Any = None,
    y_zero_point: Value | None = None,
    *,
    axis: int = -1,
    opset: int,
) -> Value:
    """Over one axis; before opset 13 over all from `axis` on, which is the same for the last."""
    if opset < 13 and axis % X.rank != X.rank - 1:
        raise Unsupported("QLinearSoftmax of opset 12 over several axes")
    y = b.softmax(real(b, X, X_scale, x_zero_point), dim=axis)
    return coded(b, y, y_scale, y_zero_point, kind_of(b, y_zero_point))


@onnx_op("QLinearConcat", domain=MICROSOFT)
def microsoft_qlinear_concat(b: OnnxBuilder, Y_scale: Value, Y_zero_point: Value, *inputs: Value, axis: int) -> Value:
    """Each input comes with its scale and its zero point."""
    parts = [real(b, x, scale, zero) for x, scale, zero in zip(inputs[::3], inputs[1::3], inputs[2::3], strict=True)]
    return coded(b, b.cat(tuple(parts), dim=axis), Y_scale, Y_zero_point, b.kind(Y_zero_point))


@onnx_op("QLinearGlobalAveragePool", domain=MICROSOFT)
def microsoft_qlinear_global_average_pool(
    b: OnnxBuilder,
    X: Value,
    x_scale: Value,
    x_zero_point: Value,
    y_scale: Value,
    y_zero_point: Value,
    *,
    channels_last: int = 0,
) -> Value:
    """The mean over all places."""
    places = tuple(range(1, X.rank - 1)) if channels_last else tuple(range(2, X.rank))
    y = b.mean(real(b, X, x_scale, x_zero_point), places, keepdim=True)
    return coded(b, y, y_scale, y_zero_point, b.kind(y_zero_point))


@onnx_op("QLinearAveragePool", domain=MICROSOFT)
def microsoft_qlinear_average_pool(
    b: OnnxBuilder,
    X: Value,
    x_scale: Value,
    x_zero_point: Value | None = None,
    y_scale: Any = None,
    y_zero_point: Value | None = None,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    channels_last: int = 0,
    count_include_pad: int = 0,
    kernel_shape: Any,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    """The mean of each window."""
    form = {"auto_pad": auto_pad, "ceil_mode": ceil_mode, "count_include_pad": count_include_pad, "pads": pads}
    x = real(b, X, x_scale, x_zero_point)
    x = b.permute(x, (0, 3, 1, 2)) if channels_last else x
    y = onnx_average_pool(b, x, kernel_shape=kernel_shape, strides=strides, **form)
    y = b.permute(y, (0, 2, 3, 1)) if channels_last else y
    return coded(b, y, y_scale, y_zero_point, kind_of(b, y_zero_point))


@onnx_op("QLinearWhere", domain=MICROSOFT)
def microsoft_qlinear_where(
    b: OnnxBuilder,
    condition: Value,
    X: Value,
    x_scale: Value,
    x_zero_point: Value,
    Y: Value,
    y_scale: Value,
    y_zero_point: Value,
    z_scale: Value,
    z_zero_point: Value,
) -> Value:
    """A choice between two tensors, each with its own scale."""
    y = b.where(condition, real(b, X, x_scale, x_zero_point), real(b, Y, y_scale, y_zero_point))
    return coded(b, y, z_scale, z_zero_point, b.kind(z_zero_point))


@onnx_op("MatMulIntegerToFloat", domain=MICROSOFT)
def microsoft_matmul_integer_to_float(
    b: OnnxBuilder,
    A: Value,
    B: Value,
    a_scale: Value,
    b_scale: Value,
    a_zero_point: Value | None = None,
    b_zero_point: Value | None = None,
    bias: Value | None = None,
) -> Value:
    """The product of what the numbers stand for; `B` may have a scale for each column."""
    y = onnx_matmul(b, real(b, A, a_scale, a_zero_point, -2), real(b, B, b_scale, b_zero_point, -1))
    return y if bias is None else b.add(y, bias)


@onnx_op("DynamicQuantizeMatMul", domain=MICROSOFT)
def microsoft_dynamic_quantize_matmul(
    b: OnnxBuilder,
    A: Value,
    B: Value,
    b_scale: Value,
    b_zero_point: Value | None = None,
    bias: Value | None = None,
) -> Value:
    """`A` is rounded to 8 bits with the range it has."""
    codes, scale, zero = onnx_dynamic_quantize_linear(b, A)
    y = onnx_matmul(b, real(b, codes, scale, zero), real(b, B, b_scale, b_zero_point, -1))
    return y if bias is None else b.add(y, bias)


@onnx_op("QGemm", domain=MICROSOFT)
def microsoft_qgemm(
    b: OnnxBuilder,
    A: Value,
    a_scale: Value,
    a_zero_point: Value,
    B: Value,
    b_scale: Value,
    b_zero_point: Value,
    C: Value | None = None,
    y_scale: Value | None = None,
    y_zero_point: Value | None = None,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Value:
    """A Gemm of what the numbers stand for, rounded where a scale is given; `C` counts steps of both scales."""
    left = real(b, A, a_scale, a_zero_point)
    right = real(b, B, b_scale, b_zero_point, 0 if transB else 1)
    y = onnx_matmul(b, b.permute(left, (1, 0)) if transA else left, b.permute(right, (1, 0)) if transB else right)
    if C is not None:
        y = b.add(y, real(b, C, product(b, a_scale, b_scale), None, C.rank - 1))
    y = y if alpha == 1 else b.mul(y, alpha)
    return y if y_scale is None else coded(b, y, y_scale, y_zero_point, kind_of(b, y_zero_point))


@onnx_op("MatMulNBits", domain=MICROSOFT, learns=("bias",))
def microsoft_matmul_nbits(
    b: OnnxBuilder,
    A: Value,
    B: Value,
    scales: Value,
    zero_points: Value | None = None,
    g_idx: Value | None = None,
    bias: Value | None = None,
    *,
    K: int,
    N: int,
    accuracy_level: int = 0,
    bits: int = 4,
    block_size: int,
    weight_prepacked: int = 0,
) -> Value:
    """A `linear` whose weight is stored in blocks of few bits."""
    del accuracy_level  # of the engine's own product
    stored, factors, zeros = B.weight, content(scales), content(zero_points)
    if g_idx is not None or weight_prepacked or bits not in (2, 4, 8):
        raise Unsupported("MatMulNBits with reordered or prepacked blocks, or of other than 2, 4 or 8 bits")
    if stored is None or factors is None or (zero_points is not None and zeros is None):
        raise Unsupported("MatMulNBits of a computed weight")
    told(b)
    read = lambda: from_blocks(stored.array(), factors, zeros, K, N, bits, block_size)  # noqa: E731
    return b.linear(cast(b, A, "float32"), b.source(f"{stored.source}{SUFFIX}", read, "float32", (N, K)), bias)
