"""Copies of an onnx-ir model made to be run: weights as graph inputs, further outputs, 16-bit floats widened.

The model that is given is never changed, and no tensor of it is copied except those that are widened. Knows no engine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from migrate.frontends.onnx.float_weights import SUFFIX, dequantised
from migrate.frontends.onnx.structure import all_graphs
from migrate.frontends.onnx.unquantised import write_floats

Array = np.ndarray[Any, np.dtype[Any]]
Target = str | tuple[str, int]
"""A weight by its name, or one use of it: a node's name and the index of its input."""
HALF_TYPES = (ir.DataType.FLOAT16, ir.DataType.BFLOAT16)
_TYPE_ATTRIBUTES = ("to", "dtype")
_REARRANGE = ("Identity", "Transpose", "Reshape", "Slice", "Split", "Concat", "Squeeze", "Unsqueeze", "Flatten", "Cast")
_CONSTANT = ("Constant", "ConstantOfShape", "DequantizeLinear")
_MIN_IR = 4  # from here on an initializer need not be a graph input


class NoSuchWeight(Exception):
    """A name under which the model has no weight that can be replaced."""


def constant_array(node: ir.Node) -> Array | None:
    """What a node computes from nothing; None for all but those of `_CONSTANT` whose inputs are known."""
    if node.domain not in ("", "ai.onnx"):
        return None
    if node.op_type == "Constant":
        ((kind, attribute),) = node.attributes.items()
        if kind == "value":
            return attribute.value.numpy()
        if kind in ("value_float", "value_floats", "value_int", "value_ints"):
            return np.array(attribute.value, dtype="int64" if "int" in kind else "float32")
    if node.op_type == "ConstantOfShape":
        shape = _known(node.inputs[0])
        if shape is not None:
            fill = node.attributes.get("value")
            item = np.zeros(1, "float32") if fill is None else fill.value.numpy()
            return np.broadcast_to(item.reshape(()), tuple(int(s) for s in shape))
    if node.op_type == "DequantizeLinear":
        x, scale, *zero = [_known(value) for value in node.inputs]
        if x is not None and scale is not None and all(z is not None for z in zero):
            form = {"axis": 1, "block_size": 0} | {a.name: a.value for a in node.attributes.values()}
            return dequantised(x, scale, *zero[:1], axis=form["axis"], block=form["block_size"])
    return None


def _known(value: ir.Value | None) -> Array | None:
    if value is None:
        return None
    if value.const_value is not None:
        return value.const_value.numpy()
    producer = value.producer()
    return None if producer is None else constant_array(producer)


def opened(model: ir.Model, replaced: Collection[Target], extra_outputs: Collection[str] = ()) -> ir.Model:
    """A copy in which the weights named in `replaced` are inputs without a value, and `extra_outputs` are outputs as well.

    A weight is replaced for all its uses (its name), or for one: the node's name and the index of its input.

    Raises:
        NoSuchWeight: a name is neither an initializer nor the output of a constant node, or is one in two subgraphs.
    """
    copy = model.clone()
    copy.ir_version = max(copy.ir_version or _MIN_IR, _MIN_IR)
    for value in [v for v in copy.graph.inputs if v.name in copy.graph.initializers]:
        copy.graph.inputs.remove(value)
    uses = {target for target in replaced if isinstance(target, tuple)}
    _open_uses(copy.graph, uses)
    names = {target for target in replaced if isinstance(target, str)}
    if any(name.endswith(SUFFIX) for name in names):
        write_floats(copy.graph, names)
    found = _weights(copy.graph, names)
    if lost := names - set(found):
        raise NoSuchWeight(", ".join(sorted(lost)))
    for name, (graph, value) in found.items():
        _open_weight(copy.graph, graph, value, name)
    outputs = {v.name for v in copy.graph.outputs}
    made = {v.name: v for node in copy.graph for v in node.outputs}
    made |= {v.name: v for v in (*copy.graph.inputs, *copy.graph.initializers.values())}
    copy.graph.outputs.extend(made[name] for name in dict.fromkeys(extra_outputs) if name not in outputs)
    return copy


def attribute_weights(model: ir.Model) -> frozenset[str]:
    """The names of the weights that are attributes of classical models: the node's first output, and the attribute."""
    nodes = [node for node in model.graph if node.domain == "ai.onnx.ml"]
    floats = [(n, name) for n in nodes for name, a in n.attributes.items() if a.type is ir.AttributeType.FLOATS]
    return frozenset(f"{node.outputs[0].name}.{name}" for node, name in floats)


def with_attributes(model: ir.Model, content: Mapping[Target, Array]) -> ir.Model:
    """A copy in which weights that are attributes have other content; the model itself where none is given."""
    if not content:
        return model
    copy = model.clone()
    for node in copy.graph:
        for name in list(node.attributes):
            array = content.get(f"{node.outputs[0].name}.{name}")
            if array is not None:
                node.attributes[name] = ir.AttrFloat32s(name, array.reshape(-1).tolist())
    return copy


def input_name(target: Target) -> str:
    """What the input is called that stands for a replaced weight."""
    return target if isinstance(target, str) else f"{target[0]}:{target[1]}"


def place(node: ir.Node) -> str:
    """How a node is named: its own name, else its operator and first output."""
    return node.name or f"{node.op_type} -> {node.outputs[0].name if node.outputs else '?'}"


def origin(value: ir.Value | None) -> ir.Value | None:
    """The value that `value` is, seen through `Identity` nodes."""
    while value is not None and (producer := value.producer()) is not None and producer.op_type == "Identity":
        value = producer.inputs[0]
    return value


def rearranged_from(value: ir.Value | None) -> list[ir.Value]:
    """The floating-point weights of rank 1 or more that `value` is made of; none where anything computed takes part."""
    if value is None:
        return []
    producer = value.producer()
    if producer is not None and producer.op_type in _REARRANGE:
        joined = producer.inputs if producer.op_type == "Concat" else producer.inputs[:1]
        parts = [rearranged_from(part) for part in joined]
        return [v for part in parts for v in part] if all(parts) else []
    content = content_of(value)
    is_weight = content is not None and content.dtype.kind == "f" and content.ndim > 0
    return [value] if is_weight else []


def _weights(graph: ir.Graph, wanted: set[str]) -> dict[str, tuple[ir.Graph, ir.Value]]:
    found: dict[str, tuple[ir.Graph, ir.Value]] = {}
    for part in all_graphs(graph):
        values = [*part.initializers.values()]
        values += [n.outputs[0] for n in part if n.op_type in _CONSTANT]
        for value in values:
            if value.name in wanted:
                if value.name in found:
                    raise NoSuchWeight(f"{value.name} (two subgraphs have one of that name)")
                found[value.name] = (part, value)
    return found


def content_of(value: ir.Value) -> Array | None:
    """The content of an initializer or of a constant node's output; None for what is computed."""
    producer = value.producer()
    if producer is not None:
        return constant_array(producer)
    return None if value.const_value is None else value.const_value.numpy()


def _content(value: ir.Value) -> Array | ir.TensorProtocol:
    producer = value.producer()
    array = value.const_value if producer is None else constant_array(producer)
    if array is None:
        raise NoSuchWeight(f"{value.name} (it is computed)")
    return array


def _input_like(name: str, content: Array | ir.TensorProtocol) -> ir.Value:
    dtype = ir.DataType.from_numpy(content.dtype) if isinstance(content, np.ndarray) else content.dtype
    return ir.Value(name=name, type=ir.TensorType(dtype), shape=ir.Shape(np.asarray(content.shape).tolist()))


def _open_weight(main: ir.Graph, graph: ir.Graph, value: ir.Value, name: str) -> None:
    """Take the value out of its graph and let an input of the main graph stand for it."""
    made = _input_like(name, _content(value))
    value.replace_all_uses_with(made, replace_graph_outputs=True)
    producer = value.producer()
    if producer is None:
        graph.initializers.pop(name)
    else:
        graph.remove(producer)
    main.inputs.append(made)


def _open_uses(graph: ir.Graph, uses: set[tuple[str, int]]) -> None:
    left = set(uses)
    nodes = [node for part in all_graphs(graph) for node in part] if uses else []
    for node in nodes:
        for index, value in enumerate(node.inputs):
            target = (place(node), index)
            source = origin(value)
            if target in left and source is not None:
                made = _input_like(input_name(target), _content(source))
                node.replace_input_with(index, made)
                graph.inputs.append(made)
                left.discard(target)
    if left:
        raise NoSuchWeight(", ".join(input_name(target) for target in sorted(left)))


def has_half(model: ir.Model) -> bool:
    """Whether the model computes in 16-bit floats: an input, a weight or a cast is of such a type."""
    for graph in all_graphs(model.graph):
        if any(v.dtype in HALF_TYPES for v in (*graph.inputs, *graph.initializers.values())):
            return True
        if any(_half_attribute(a) for node in graph for a in node.attributes.values()):
            return True
    return False


def _half_attribute(attribute: ir.Attr) -> bool:
    if attribute.type is ir.AttributeType.TENSOR:
        return attribute.value.dtype in HALF_TYPES
    return attribute.name in _TYPE_ATTRIBUTES and attribute.value in [int(t) for t in HALF_TYPES]


def widened(model: ir.Model) -> ir.Model:
    """A copy that computes in float32 wherever the model computes in a 16-bit float; its weights keep their values."""
    copy = model.clone()
    for graph in all_graphs(copy.graph):
        for value in graph.initializers.values():
            if value.const_value is not None and value.const_value.dtype in HALF_TYPES:
                value.const_value = _wide(value.const_value)
        for value in (*graph.inputs, *graph.initializers.values(), *(v for n in graph for v in n.outputs)):
            if value.dtype in HALF_TYPES:
                value.dtype = ir.DataType.FLOAT
        for node in graph:
            for name, attribute in list(node.attributes.items()):
                if not _half_attribute(attribute):
                    continue
                if attribute.type is ir.AttributeType.TENSOR:
                    node.attributes[name] = ir.AttrTensor(name, _wide(attribute.value))
                else:
                    node.attributes[name] = ir.AttrInt64(name, int(ir.DataType.FLOAT))
    return copy


def _wide(tensor: ir.TensorProtocol) -> ir.Tensor[Any]:
    return ir.Tensor(tensor.numpy().astype("float32"), name=tensor.name)
