"""Convolutions as modules."""

from __future__ import annotations

from typing import Any

from migrate.codegen.layers import Arg, Layer, layer, of_dtype, same, tensors, weight_of
from migrate.graph.ir import Node

_CONV = "input weight bias=None stride=1 padding=0 dilation=1 groups=1"
_TRANSPOSED = "input weight bias=None stride=1 padding=0 output_padding=0 groups=1 dilation=1"


@layer("conv1d", _CONV)
@layer("conv2d", _CONV)
@layer("conv3d", _CONV)
def conv(
    node: Node, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any
) -> Layer | None:
    """`nn.Conv1d`, `nn.Conv2d`, `nn.Conv3d`."""
    if not weight_of(weight) or not (bias is None or weight_of(bias)):
        return None
    shape = weight.shape
    args = (
        Arg("in_channels", shape[1] * groups, positional=True),
        Arg("out_channels", shape[0], positional=True),
        Arg("kernel_size", same(shape[2:])),
        Arg("stride", same(stride), 1),
        Arg("padding", same(padding), 0),
        Arg("dilation", same(dilation), 1),
        Arg("groups", groups, 1),
        Arg("bias", bias is not None, True),
    )
    constructor = f"nn.Conv{node.op.name[-2]}d"
    named = tensors(weight=weight, bias=bias)
    return Layer(constructor=constructor, args=args + of_dtype(weight), inputs=(input,), role="conv", tensors=named)


@layer("conv_transpose1d", _TRANSPOSED)
@layer("conv_transpose2d", _TRANSPOSED)
@layer("conv_transpose3d", _TRANSPOSED)
def conv_transpose(
    node: Node, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: Any,
    dilation: Any,
) -> Layer | None:  # fmt: skip
    """`nn.ConvTranspose1d`, `nn.ConvTranspose2d`, `nn.ConvTranspose3d`."""
    if not weight_of(weight) or not (bias is None or weight_of(bias)):
        return None
    shape = weight.shape
    args = (
        Arg("in_channels", shape[0], positional=True),
        Arg("out_channels", shape[1] * groups, positional=True),
        Arg("kernel_size", same(shape[2:])),
        Arg("stride", same(stride), 1),
        Arg("padding", same(padding), 0),
        Arg("output_padding", same(output_padding), 0),
        Arg("groups", groups, 1),
        Arg("bias", bias is not None, True),
        Arg("dilation", same(dilation), 1),
    )
    constructor = f"nn.ConvTranspose{node.op.name[-2]}d"
    named = tensors(weight=weight, bias=bias)
    return Layer(constructor=constructor, args=args + of_dtype(weight), inputs=(input,), role="up", tensors=named)
