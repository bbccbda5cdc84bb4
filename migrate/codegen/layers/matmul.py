"""Linear layers as modules."""

from __future__ import annotations

from typing import Any

from migrate.codegen.layers import Arg, Layer, layer, of_dtype, tensors, weight_of
from migrate.graph.ir import Node


@layer("linear", "input weight bias=None")
def linear(node: Node, input: Any, weight: Any, bias: Any) -> Layer | None:
    """`nn.Linear`."""
    del node
    if not weight_of(weight) or weight.rank != 2 or not (bias is None or weight_of(bias)):
        return None
    args = (
        Arg("in_features", weight.shape[1], positional=True),
        Arg("out_features", weight.shape[0], positional=True),
        Arg("bias", bias is not None, True),
    )
    named = tensors(weight=weight, bias=bias)
    return Layer(constructor="nn.Linear", args=args + of_dtype(weight), inputs=(input,), role="linear", tensors=named)
