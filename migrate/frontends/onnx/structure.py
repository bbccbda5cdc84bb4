"""Whether a model is what ONNX calls a graph: names that are text, values that exist, tensors that hold what they declare,
nodes in an order in which they can run. That no value is defined twice, onnx-ir sees to.

Knows operators by their schemas alone. `onnx.checker` is not used: it reads the whole file again, and refuses files that
every engine runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx_ir as ir

from migrate.frontends.onnx.attributes import attribute_faults


def faults(model: ir.Model) -> Iterator[str]:
    """What makes the model invalid, in words."""
    yield from _not_text(model)
    for graph in graphs_of(model):
        yield from _undefined(graph)
        yield from _constants(graph)
        yield from attribute_faults(model, graph)
    for name, tensor in tensors_of(model):
        if not isinstance(tensor, ir.ExternalTensor) and (why := _unreadable(tensor)):
            yield f"tensor {name!r} cannot be read: {why}"


def order_nodes(model: ir.Model) -> None:
    """Put nodes behind those whose values they take; nothing moves where that is so already.

    Raises:
        ValueError: they form a cycle.
    """
    for graph in graphs_of(model):
        if not _ordered(graph):
            graph.sort()


def graphs_of(model: ir.Model) -> Iterator[ir.Graph]:
    """The main graph, the functions' graphs, and the graphs inside them."""
    for graph in (model.graph, *(f.graph for f in model.functions.values())):
        yield from all_graphs(graph)


def all_graphs(graph: ir.Graph) -> Iterator[ir.Graph]:
    """The graph and every graph inside its nodes."""
    yield graph
    yield from graph.subgraphs()


def tensors_of(model: ir.Model) -> Iterator[tuple[str, Any]]:
    """Every stored tensor with the name to show: initializers, and tensors that are attributes of a node."""
    for graph in graphs_of(model):
        for name, value in graph.initializers.items():
            if value.const_value is not None:
                yield name, value.const_value
        for node in graph:
            for attribute in node.attributes.values():
                if attribute.type is ir.AttributeType.TENSOR:
                    yield _output_name(node), attribute.value
                elif attribute.type is ir.AttributeType.TENSORS:
                    yield from ((_output_name(node), tensor) for tensor in attribute.value)


def _constants(graph: ir.Graph) -> Iterator[str]:
    """Constants that do not have exactly one attribute, which is their value."""
    for node in graph:
        count = len(node.attributes)
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx") and count != 1:
            yield f"constant {_output_name(node)!r} has {f'{count} values' if count else 'no value'}"
        for attribute in node.attributes.values() if node.op_type == "Constant" else ():
            if (attribute.name == "value") != (attribute.type is ir.AttributeType.TENSOR):
                yield f"constant {_output_name(node)!r} is of another type than its attribute {attribute.name!r} says"


def _output_name(node: ir.Node) -> str:
    return next((v.name for v in node.outputs if v.name), node.op_type)


# ---- names


def _not_text(model: ir.Model) -> Iterator[str]:
    """Strings that are no UTF-8 come out of the parser as bytes."""
    for kind, text in _texts(model):
        if isinstance(text, bytes):
            yield f"the {kind} {text!r} is not UTF-8"


def _texts(model: ir.Model) -> Iterator[tuple[str, Any]]:
    yield from (("producer", model.producer_name), ("producer's version", model.producer_version))
    yield from (("domain of an opset", domain) for domain in model.opset_imports)
    yield from (("metadata", text) for pair in model.metadata_props.items() for text in pair)
    for graph in graphs_of(model):
        yield "name of a graph", graph.name
        yield from (("name of an input", value.name) for value in graph.inputs)
        yield from (("size", getattr(d, "value", None)) for v in graph.inputs for d in v.shape or ())
        yield from (("name of an initializer", name) for name in graph.initializers)
        for node in graph:
            yield from (("name of a node", node.name), ("operator", node.op_type), ("domain", node.domain))
            yield from (("name of a value", v.name) for v in (*node.inputs, *node.outputs) if v is not None)
            yield from (("metadata", text) for pair in node.metadata_props.items() for text in pair)
            yield from (("attribute", text) for a in node.attributes.values() for text in (a.name, a.value))


# ---- values


def _undefined(graph: ir.Graph) -> Iterator[str]:
    for node in graph:
        for value in node.inputs:
            if value is not None and not _exists(value):
                yield f"node {node.name or node.op_type!r} takes {value.name!r}, which nothing makes"
    for value in graph.outputs:
        if not _exists(value):
            yield f"nothing makes the output {value.name!r}"


def _exists(value: ir.Value) -> bool:
    return value.producer() is not None or value.is_graph_input() or value.is_initializer()


def _ordered(graph: ir.Graph) -> bool:
    done: set[ir.Node] = set()
    for node in graph:
        for value in _taken(node):
            producer = value.producer()
            if producer is not None and producer.graph is graph and producer not in done:
                return False
        done.add(node)
    return True


def _taken(node: ir.Node) -> Iterator[ir.Value]:
    """The values that a node takes, those that the graphs inside it take included."""
    yield from (value for value in node.inputs if value is not None)
    for attribute in node.attributes.values():
        if attribute.type is ir.AttributeType.GRAPH:
            for inner in attribute.value:
                yield from _taken(inner)
            yield from attribute.value.outputs


# ---- tensors


def _unreadable(tensor: Any) -> str:
    """Why a tensor does not hold what it declares; nothing is copied where the file has the bytes as they are."""
    try:
        if tensor.dtype is not ir.DataType.STRING:
            tensor.numpy()
    except Exception as fault:  # the classes of onnx-ir and numpy for sizes, types and offsets that do not fit
        return str(fault).split("\n")[0][:120]
    return ""
