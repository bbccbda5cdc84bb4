"""Quantised operators: what is stored in few bits becomes float parameters, what is computed is rounded as in the source.

Rounding has the gradient of what is rounded (decision 0012). For whole numbers that were rounded, `OnnxBuilder.rounded` has
the same numbers as floats, through which gradients pass.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx_ir as ir

from migrate.errors import Diagnostic
from migrate.frontends.onnx.float_weights import SUFFIX, dequantised, on_grid
from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.narrow import CARRIERS, RANGES, dtype_name
from migrate.frontends.onnx.ops.conv import onnx_conv
from migrate.frontends.onnx.ops.elementwise import cast, rounded
from migrate.frontends.onnx.ops.matmul import onnx_matmul
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import InferenceError, Value

FAKE = ("int2", "uint2", "int4", "uint4", "int8", "uint8")  # wider ones are biases, whose steps are no loss
UINT8 = 2  # the code of the type that is meant where none is given


def told(b: OnnxBuilder) -> None:
    """Say once what becomes of a quantised source."""
    b.note(
        Diagnostic(
            code="MIG316",
            severity="note",
            what="the source is quantised",
            why="its weights are trained as floats, from the values that its integers stand for"
            + (", and rounded to its steps before they are used" if b.fake else "")
            + "; what it rounds is rounded in training as well, with the gradient of what is rounded",
        )
    )


def content(value: Value | None) -> Any:
    """The numbers of a stored value, as an array; None for what is computed."""
    if value is None:
        return None
    if value.weight is not None:
        return value.weight.array()
    return None if value.static is None else np.array(value.static.tolist())


def product(b: OnnxBuilder, left: Value, right: Value) -> Value:
    """Two scales as one."""
    s, t = content(left), content(right)
    return b.mul(left, right) if s is None or t is None else b.static(s.astype("float32") * t, "float32")


def spread(b: OnnxBuilder, v: Value, x: Value, axis: int, block: int) -> Value:
    """A scale or a zero point as floats that broadcast to `x`: one for all, one for each place of an axis, or one a block."""
    known = content(v)
    if known is None and not v.rank:
        return v if v.is_float else cast(b, v, "float32")
    if known is not None and known.size == 1:
        return b.static(float(known.reshape(-1)[0]), "float32")
    if not -x.rank <= axis < x.rank:
        raise InferenceError(f"axis {axis} is out of range for an input of rank {x.rank}")
    v = v if v.is_float else cast(b, v, "float32")
    if block:
        whole = b.repeat_interleave(v, block, dim=axis)
        cut = (*[slice(None)] * (axis % x.rank), slice(None, x.shape[axis]))
        return whole if whole.shape == x.shape else b.getitem(whole, cut)
    if v.rank != 1 or v.shape == (1,):
        return v
    return b.reshape(v, (*v.shape, *[1] * (x.rank - 1 - axis % x.rank)))


def real(
    b: OnnxBuilder, x: Value, scale: Value, zero: Value | None, axis: int = 1, block: int = 0, name: str = ""
) -> Value:
    """What `x` stands for: a float weight, called `name`, where all is stored, else computed."""
    told(b)
    s, z = content(scale), content(zero)
    if x.weight is not None and s is not None and (zero is None or z is not None):
        weight, shape = x.weight, tuple(int(n) for n in x.shape)  # pyright: ignore[reportArgumentType]
        source = name or f"{weight.source}{SUFFIX}"
        made = b.source(source, lambda: dequantised(weight.array(), s, z, axis=axis, block=block), "float32", shape)
        return on_steps(b, made, scale, zero, b.kind(x), axis, block) if b.fake and b.kind(x) in FAKE else made
    wide = centred(b, x, zero, axis, block)
    return b.mul(wide, spread(b, scale, x, axis, block))


def on_steps(b: OnnxBuilder, x: Value, scale: Value, zero: Value | None, kind: str, axis: int, block: int) -> Value:
    """A float weight rounded to the source's steps, with the gradient of what is rounded."""
    assert x.weight is not None
    s, z = content(scale), content(zero)
    low, high = RANGES[kind]
    grid = lambda array: on_grid(array, s, z, low, high, axis=axis, block=block)  # noqa: E731
    x.weight = replace(x.weight, grid=grid)
    place: Any = 0.0 if zero is None else spread(b, zero, x, axis, block)
    return b.fake_quantize(x, spread(b, scale, x, axis, block), place, low, high)


def centred(b: OnnxBuilder, x: Value, zero: Value | None, axis: int = 1, block: int = 0) -> Value:
    """Numbers of few bits as floats, less their zero point."""
    wide = b.rounded.get(x, x)
    wide = wide if wide.is_float else cast(b, wide, "float32")
    known = content(zero)
    if zero is None or (known is not None and not known.any()):
        return wide
    return b.sub(wide, spread(b, b.rounded.get(zero, zero), x, axis, block))


def coded(
    b: OnnxBuilder, x: Value, scale: Value, zero: Value | None, kind: str, axis: int = 1, block: int = 0
) -> Value:
    """`x` rounded to whole numbers of a type; the same numbers as floats are kept for what comes next."""
    told(b)
    place: Any = 0.0 if zero is None else spread(b, b.rounded.get(zero, zero), x, axis, block)
    low, high = RANGES[kind]
    smooth = b.quantize(x, spread(b, scale, x, axis, block), place, low, high)
    whole = b.marked(b.cast(smooth, f"torch.{CARRIERS.get(kind, kind)}"), kind)
    b.rounded[whole] = smooth
    return whole


@onnx_op("QuantizeLinear", since=10)
def onnx_quantize_linear(
    b: OnnxBuilder,
    x: Value,
    y_scale: Value,
    y_zero_point: Value | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Value:
    """To the type of the zero point; blocks, other types and 8-bit floats came with later opsets."""
    del precision  # of the division, at least float32 as everything here
    kind = b.kind(y_zero_point) if y_zero_point is not None else dtype_name(ir.DataType(output_dtype or UINT8))
    x = x if x.is_float else cast(b, x, "float32")
    if kind in RANGES:
        return coded(b, x, y_scale, y_zero_point, kind, axis, block_size)
    if y_zero_point is not None and any(b.numbers(y_zero_point)):
        raise Unsupported(f"a zero point of {kind} that is not zero")
    shares = b.div(x, spread(b, y_scale, x, axis, block_size))
    return b.marked(rounded(b, shares, kind, bool(saturate)), kind)


@onnx_op("DequantizeLinear", since=10)
def onnx_dequantize_linear(
    b: OnnxBuilder,
    x: Value,
    x_scale: Value,
    x_zero_point: Value | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Value:
    """A stored tensor becomes a float parameter."""
    del output_dtype  # a 16-bit float is float32 here
    return real(b, x, x_scale, x_zero_point, axis, block_size, b.output_names[0])


@onnx_op("DynamicQuantizeLinear", since=11)
def onnx_dynamic_quantize_linear(b: OnnxBuilder, x: Value) -> Any:
    """To 8 bits without sign, with the range of the numbers at hand."""
    scale, zero = b.range_of(x)
    place = b.cast(zero, "torch.uint8")
    b.rounded[place] = zero
    return coded(b, x, scale, place, "uint8"), scale, place


@onnx_op("QLinearConv", since=10)
def onnx_qlinear_conv(
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
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    """A convolution of what the numbers stand for; the bias counts steps of both scales."""
    del kernel_shape  # the weight has it
    form = {"auto_pad": auto_pad, "dilations": dilations, "group": group, "pads": pads, "strides": strides}
    weight = real(b, w, w_scale, w_zero_point, axis=0)
    bias = None if B is None else real(b, B, product(b, x_scale, w_scale), None, axis=0)
    y = onnx_conv(b, real(b, x, x_scale, x_zero_point), weight, bias, **form)
    return coded(b, y, y_scale, y_zero_point, b.kind(y_zero_point))


@onnx_op("QLinearMatMul", since=10)
def onnx_qlinear_matmul(
    b: OnnxBuilder,
    a: Value,
    a_scale: Value,
    a_zero_point: Value,
    b_: Value,
    b_scale: Value,
    b_zero_point: Value,
    y_scale: Value,
    y_zero_point: Value,
) -> Value:
    """A product of what the numbers stand for; `a` may have a scale for each row, `b` one for each column."""
    left = real(b, a, a_scale, a_zero_point, axis=-2)
    right = real(b, b_, b_scale, b_zero_point, axis=-1)
    return coded(b, onnx_matmul(b, left, right), y_scale, y_zero_point, b.kind(y_zero_point), axis=-2)


def integers(b: OnnxBuilder, made: Value, exact: Value) -> Value:
    """Whole numbers of 32 bits that were computed as floats: from `exact`, while `made` is what gradients pass through."""
    whole = b.cast(exact, "torch.int32")
    b.rounded[whole] = made
    return whole


def counted(b: OnnxBuilder, x: Value, zero: Value | None, axis: int) -> Value:
    """Numbers of few bits less their zero point: a float parameter where they are stored."""
    return real(b, x, b.static(1.0, "float32"), zero, axis) if x.weight is not None else centred(b, x, zero, axis)


@onnx_op("MatMulInteger", since=10)
def onnx_matmul_integer(
    b: OnnxBuilder, A: Value, B: Value, a_zero_point: Value | None = None, b_zero_point: Value | None = None
) -> Value:
    """The product of whole numbers; float64 holds every one that 32 bits do."""
    told(b)
    left, right = counted(b, A, a_zero_point, -2), counted(b, B, b_zero_point, -1)
    exact = b.matmul(b.cast(left, "torch.float64"), b.cast(right, "torch.float64"))
    return integers(b, onnx_matmul(b, left, right), exact)


@onnx_op("ConvInteger", since=10)
def onnx_conv_integer(
    b: OnnxBuilder,
    x: Value,
    w: Value,
    x_zero_point: Value | None = None,
    w_zero_point: Value | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    """The convolution of whole numbers; padding is of the zero point."""
    del kernel_shape  # the weight has it
    told(b)
    form = {"auto_pad": auto_pad, "dilations": dilations, "group": group, "pads": pads, "strides": strides}
    image, weight = centred(b, x, x_zero_point), counted(b, w, w_zero_point, 0)
    exact = onnx_conv(b, b.cast(image, "torch.float64"), b.cast(weight, "torch.float64"), **form)
    return integers(b, onnx_conv(b, image, weight, **form), exact)
