"""Pooling as modules: windows always, so that their sizes stand in the constructor; global ones as members of a sequence."""

from __future__ import annotations

from typing import Any

from migrate.codegen.layers import Arg, Layer, layer, same
from migrate.graph.ir import Node

_AVG = "input kernel_size stride=None padding=0 ceil_mode=False count_include_pad=True"
_MAX = "input kernel_size stride=None padding=0 dilation=1 ceil_mode=False"


@layer("max_pool1d", _MAX)
@layer("max_pool2d", _MAX)
@layer("max_pool3d", _MAX)
def max_pool(
    node: Node, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any
) -> Layer | None:
    """`nn.MaxPool1d`, `nn.MaxPool2d`, `nn.MaxPool3d`."""
    args = (
        Arg("kernel_size", same(kernel_size), positional=True),
        Arg("stride", same(stride), None),
        Arg("padding", same(padding), 0),
        Arg("dilation", same(dilation), 1),
        Arg("ceil_mode", ceil_mode, False),
    )
    return Layer(constructor=f"nn.MaxPool{node.op.name[-2]}d", args=args, inputs=(input,), role="pool")


@layer("avg_pool1d", _AVG)
@layer("avg_pool2d", f"{_AVG} divisor_override=None")
@layer("avg_pool3d", f"{_AVG} divisor_override=None")
def avg_pool(
    node: Node,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: Any,
    count_include_pad: Any,
    divisor_override: Any = None,
) -> Layer | None:
    """`nn.AvgPool1d`, `nn.AvgPool2d`, `nn.AvgPool3d`."""
    args = (
        Arg("kernel_size", same(kernel_size), positional=True),
        Arg("stride", same(stride), None),
        Arg("padding", same(padding), 0),
        Arg("ceil_mode", ceil_mode, False),
        Arg("count_include_pad", count_include_pad, True),
    )
    args = args if divisor_override is None else (*args, Arg("divisor_override", divisor_override, None))
    return Layer(constructor=f"nn.AvgPool{node.op.name[-2]}d", args=args, inputs=(input,), role="pool")


@layer("adaptive_avg_pool1d", "input output_size", only_in_lists=True)
@layer("adaptive_avg_pool2d", "input output_size", only_in_lists=True)
@layer("adaptive_avg_pool3d", "input output_size", only_in_lists=True)
def adaptive_avg_pool(node: Node, input: Any, output_size: Any) -> Layer | None:
    """`nn.AdaptiveAvgPool1d`, `nn.AdaptiveAvgPool2d`, `nn.AdaptiveAvgPool3d`."""
    args = (Arg("output_size", same(output_size), positional=True),)
    return Layer(constructor=f"nn.AdaptiveAvgPool{node.op.name[-2]}d", args=args, inputs=(input,), role="pool")
