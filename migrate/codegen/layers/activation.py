"""Activations with a parameter as modules; the others only where the source numbers them as members of a sequence."""

from __future__ import annotations

from typing import Any

from migrate.codegen.layers import Arg, Layer, layer, of_dtype, tensors, weight_of
from migrate.graph.ir import Node

_PLAIN = {
    "relu": "ReLU", "silu": "SiLU", "selu": "SELU", "sigmoid": "Sigmoid", "tanh": "Tanh", "hardswish": "Hardswish",
    "hardsigmoid": "Hardsigmoid", "relu6": "ReLU6", "mish": "Mish", "softsign": "Softsign", "logsigmoid": "LogSigmoid",
}  # fmt: skip


@layer("prelu", "input weight")
def prelu(node: Node, input: Any, weight: Any) -> Layer | None:
    """`nn.PReLU`."""
    del node
    if not weight_of(weight) or weight.rank != 1:
        return None
    args = (Arg("num_parameters", weight.shape[0], 1, positional=True),)
    named = tensors(weight=weight)
    return Layer(constructor="nn.PReLU", args=args + of_dtype(weight), inputs=(input,), role="act", tensors=named)


def plain(node: Node, input: Any) -> Layer | None:
    """An activation without arguments."""
    return Layer(constructor=f"nn.{_PLAIN[node.op.name]}", args=(), inputs=(input,), role="act")


for _name in _PLAIN:
    layer(_name, "input", only_in_lists=True)(plain)


@layer("gelu", "input approximate='none'", only_in_lists=True)
def gelu(node: Node, input: Any, approximate: Any) -> Layer | None:
    """`nn.GELU`."""
    del node
    args = (Arg("approximate", approximate, "none"),)
    return Layer(constructor="nn.GELU", args=args, inputs=(input,), role="act")


@layer("leaky_relu", "input negative_slope=0.01", only_in_lists=True)
def leaky_relu(node: Node, input: Any, negative_slope: Any) -> Layer | None:
    """`nn.LeakyReLU`."""
    del node
    args = (Arg("negative_slope", negative_slope, 0.01, positional=True),)
    return Layer(constructor="nn.LeakyReLU", args=args, inputs=(input,), role="act")
