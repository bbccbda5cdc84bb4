"""A case of ONNX's node suite whose inputs or outputs are sequences or optionals, as one of tensors.

What goes in is put together by nodes before the model's own, what comes out is taken apart after them, and counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

KINDS = helper.np_dtype_to_tensor_dtype


def of_tensors(
    model: onnx.ModelProto, feeds: list[Any], outputs: list[Any]
) -> tuple[onnx.ModelProto, list[Any], list[Any]]:
    """The model, what it is fed and what it should give, all in tensors."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    inputs, results, nodes = list(graph.input), list(graph.output), list(graph.node)
    for field in (graph.input, graph.output, graph.node):
        del field[:]
    given: list[Any] = []
    for value, data in zip(inputs, feeds, strict=True):
        given += _put_together(graph, value, data)
    graph.node.extend(nodes)
    wanted: list[Any] = []
    for value, data in zip(results, outputs, strict=True):
        wanted += _taken_apart(graph, value, data)
    return made, given, wanted


def _put_together(graph: onnx.GraphProto, value: onnx.ValueInfoProto, data: Any) -> list[Any]:
    """The tensors that are fed for one input."""
    kind, name = value.type.WhichOneof("value"), value.name
    if kind == "tensor_type":
        graph.input.append(value)
        return [data]
    if data is None:
        inner = value.type.optional_type.elem_type
        graph.node.append(helper.make_node("Optional", [], [name], type=inner))
        return []
    items = data if isinstance(data, list) else [data]
    names = [f"{name}_{i}" for i in range(len(items))]
    for each, item in zip(names, items, strict=True):
        graph.input.append(helper.make_tensor_value_info(each, KINDS(np.asarray(item).dtype), np.shape(item)))
    held = name if kind == "sequence_type" else f"{name}_held"
    if isinstance(data, list):
        graph.node.append(helper.make_node("SequenceConstruct" if names else "SequenceEmpty", names, [held]))
    if kind == "optional_type":
        graph.node.append(helper.make_node("Optional", [held if isinstance(data, list) else names[0]], [name]))
    return items


def _taken_apart(graph: onnx.GraphProto, value: onnx.ValueInfoProto, data: Any) -> list[Any]:
    """The tensors that should come of one output."""
    kind, name = value.type.WhichOneof("value"), value.name
    if kind == "tensor_type":
        graph.output.append(value)
        return [data]
    if kind == "optional_type":
        graph.node.append(helper.make_node("OptionalGetElement", [name], [f"{name}_held"]))
        name = f"{name}_held"
    if not isinstance(data, list):
        graph.output.append(helper.make_empty_tensor_value_info(name))
        return [data]
    for i in range(len(data)):
        place = numpy_helper.from_array(np.array(i), f"{name}_place_{i}")
        graph.node.append(helper.make_node("Constant", [], [place.name], value=place))
        graph.node.append(helper.make_node("SequenceAt", [name, place.name], [f"{name}_{i}"]))
        graph.output.append(helper.make_empty_tensor_value_info(f"{name}_{i}"))
    graph.node.append(helper.make_node("SequenceLength", [name], [f"{name}_length"]))
    graph.output.append(helper.make_empty_tensor_value_info(f"{name}_length"))
    return [*data, np.array(len(data))]
