"""Convolutions whose ATen form differs from the public one."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.registry import Unsupported, aten_op
from migrate.graph import Builder, Value


@aten_op("aten.convolution")
def aten_convolution(
    b: Builder, input: Value, weight: Value, bias: Value | None, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int,
) -> Value:  # fmt: skip
    """The form to which every convolution decomposes."""
    rank = len(stride)
    if not 1 <= rank <= 3:
        raise Unsupported(f"a convolution over {rank} axes")
    if transposed:
        op = getattr(b, f"conv_transpose{rank}d")
        return op(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(b, f"conv{rank}d")(input, weight, bias, stride, padding, dilation, groups)


@aten_op("aten._convolution")
def aten_scripted_convolution(
    b: Builder, input: Value, weight: Value, bias: Value | None, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int, *flags: bool,
) -> Value:  # fmt: skip
    """The form that TorchScript traces; its flags choose among kernels."""
    return aten_convolution(b, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
