"""What a graph for inference has lost of its layers: batch normalisation written out as arithmetic, momenta, dropout rates.

    m = rsqrt(variance + eps) * gamma      ->      y = _BatchNorm(x, mean, variance, gamma, beta)
    y = x * m + (beta - mean * m)

A dilated convolution between SpaceToBatchND and BatchToSpaceND is one again. Keras 2 keeps each layer's configuration
beside the graph; Keras 3 keeps none in a SavedModel. Knows nodes and messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from migrate.errors import Diagnostic
from migrate.frontends.tensorflow.files import TensorflowModel
from migrate.frontends.tensorflow.messages import message
from migrate.frontends.tensorflow.tensors import array_of

BATCH_NORM, DILATED = "_BatchNorm", "_DilatedConv"
CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")
ADDS = ("AddV2", "Add", "BiasAdd")
PASSES_ON = ("Identity", "Cast", "ReadVariableOp", "Reshape", "Squeeze")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFacts:
    """The nodes with layers put together again; momenta by the name of the mean's variable, rates by a layer's name."""

    nodes: list[Any]
    momenta: dict[str, float] = field(default_factory=dict[str, float])
    rates: dict[str, float] = field(default_factory=dict[str, float])
    notes: list[Diagnostic] = field(default_factory=list[Diagnostic])


def layer_facts(model: TensorflowModel) -> LayerFacts:
    """Read what the file says of its layers, and find those that are written out."""
    momenta: dict[str, float] = {}
    rates: dict[str, float] = {}
    for owner, layer in model.layers:
        config = layer.get("config")
        if not isinstance(config, dict):
            continue
        if layer.get("class_name") in ("BatchNormalization", "SyncBatchNormalization") and owner:
            momenta[owner] = float(config.get("momentum", 0.99))
        elif layer.get("class_name") == "Dropout" and config.get("noise_shape") is None and config.get("rate"):
            rates[str(config.get("name"))] = float(config["rate"])
    search = _Search(model)
    nodes = _needed([search.joined(node) for node in model.nodes], [port.value for port in model.outputs])
    notes = [_lost(model)] if model.draws and not rates else []
    return LayerFacts(nodes=nodes, momenta=momenta, rates=rates, notes=notes)


def _needed(nodes: list[Any], values: list[str]) -> list[Any]:
    """The nodes that still lead to these values."""
    wanted = {value.partition(":")[0] for value in values}
    kept: list[Any] = []
    for node in reversed(nodes):
        if node.name in wanted:
            wanted.update(text.partition(":")[0] for text in node.input)
            kept.append(node)
    return kept[::-1]


def _lost(model: TensorflowModel) -> Diagnostic:
    todo = "convert the .keras file of the model, which has its layers, or write the dropout into the package"
    why = (
        f"{model.kind} holds what the model does in evaluation, and the state of random numbers that this does not use"
    )
    return Diagnostic(
        code="MIG351", severity="warning", what="dropout is not in the file", where=model.name, why=why, todo=todo
    )


class _Search:
    """The nodes by name, for looking backwards from one of them."""

    def __init__(self, model: TensorflowModel) -> None:
        self.where = model.name
        self.nodes = {node.name: node for node in model.nodes}
        self.variables = model.variables

    def maker(self, text: str, *ops: str) -> Any:
        """The node that makes a value, where it is one of these operators."""
        node = self.nodes.get(text.partition(":")[0])
        return node if node is not None and node.op in ops else None

    def variable(self, text: str) -> str | None:
        """The variable that a value is read from, by the name of its node."""
        node = self.nodes.get(text.partition(":")[0])
        while node is not None and node.op in PASSES_ON:
            node = self.nodes.get(node.input[0].partition(":")[0])
        return node.name if node is not None and node.name in self.variables else None

    def joined(self, node: Any) -> Any:
        """The node, or the batch normalisation or dilated convolution that ends with it."""
        if node.op == "BatchToSpaceND":
            return self._dilated(node) or node
        found = self._parts(node) if node.op in ADDS and len(node.input) == 2 else None
        if found is None:
            return node
        epsilon, inputs, affine = found
        made = message("NodeDef")
        made.name, made.op = node.name, BATCH_NORM
        made.input.extend(inputs)
        made.attr["epsilon"].f = epsilon
        made.attr["affine"].s = affine.encode()
        return made

    def _dilated(self, node: Any) -> Any:
        """A convolution of every so many places, which older functions write as one of a larger batch."""
        conv = self.maker(node.input[0], *CONVOLUTIONS)
        if conv is None and (squeeze := self.maker(node.input[0], "Squeeze")) is not None:
            conv = self.maker(squeeze.input[0], *CONVOLUTIONS)
        if (
            conv is None
            or conv.attr["padding"].s != b"VALID"
            or {*conv.attr["strides"].list.i, *conv.attr["dilations"].list.i} > {1}
        ):
            return None
        expand = self.maker(conv.input[0], "ExpandDims")
        spread = self.maker(conv.input[0] if expand is None else expand.input[0], "SpaceToBatchND")
        if spread is None:
            return None
        made = message("NodeDef")
        made.name, made.op = node.name, DILATED
        made.input.extend([spread.input[0], conv.input[1], *spread.input[1:], node.input[2]])
        made.attr["depthwise"].b = conv.op != "Conv2D"
        return made

    def _parts(self, node: Any) -> tuple[float, list[str], str] | None:
        scaled, shift = self.maker(node.input[0], "Mul"), self.maker(node.input[1], "Sub", "Neg")
        if scaled is None or shift is None:
            return None
        product = self.maker(shift.input[-1], "Mul")
        if product is None or product.input[1] != scaled.input[1] or self.variable(product.input[0]) is None:
            return None
        factor = self.maker(scaled.input[1], "Mul", "Rsqrt")
        root = factor if factor is None or factor.op == "Rsqrt" else self.maker(factor.input[0], "Rsqrt")
        total = self.maker(root.input[0], *ADDS) if root is not None else None
        if factor is None or total is None or self.variable(total.input[0]) is None:
            return None
        epsilon = self.maker(total.input[1], "Const")
        if epsilon is None:
            return None
        gamma = [factor.input[1]] if factor.op == "Mul" else []
        beta = [shift.input[0]] if shift.op == "Sub" else []
        value = float(str(array_of(epsilon.attr["value"].tensor, self.where).reshape(-1)[0]))
        affine = ("gamma " if gamma else "") + ("beta" if beta else "")
        return value, [scaled.input[0], product.input[0], total.input[0], *gamma, *beta], affine
