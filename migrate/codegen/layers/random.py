"""Dropout as a module, which follows `train()` and `eval()`."""

from __future__ import annotations

from typing import Any

from migrate.codegen.layers import Arg, Layer, layer
from migrate.graph.ir import Node


@layer("dropout", "input p=0.5 training=True inplace=False")
def dropout(node: Node, input: Any, p: Any, training: Any, inplace: Any) -> Layer | None:
    """`nn.Dropout`."""
    del node, training, inplace
    args = (Arg("p", p, 0.5, positional=True, config="dropout"),)
    return Layer(constructor="nn.Dropout", args=args, inputs=(input,), role="dropout")


@layer("alpha_dropout", "input p=0.5 training=False inplace=False")
def alpha_dropout(node: Node, input: Any, p: Any, training: Any, inplace: Any) -> Layer | None:
    """`nn.AlphaDropout`."""
    del node, training, inplace
    args = (Arg("p", p, 0.5, positional=True, config="dropout"),)
    return Layer(constructor="nn.AlphaDropout", args=args, inputs=(input,), role="dropout")
