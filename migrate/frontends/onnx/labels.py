"""What a classical classifier gives beside numbers, taken out of the model: maps of labels to scores, labels that are text.

`ZipMap` -> its scores as they are; labels of text -> their places in the list of labels. The model computes the same numbers,
and an engine runs it still. Knows no engine and no handler.
"""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from migrate.errors import Diagnostic

ML = "ai.onnx.ml"
NOTES = "notes"
"""Where a model's `meta` has what became of its labels; a model without it is as it was read."""
_MOVES = ("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Cast")
_PICKS = ("ArrayFeatureExtractor", "Gather")


def without_map_types(proto: Any) -> Any:
    """The `onnx.ModelProto` itself, or a copy that declares no maps, which onnx-ir does not read."""
    maps = [i for i, v in enumerate(proto.graph.output) if v.type.sequence_type.elem_type.HasField("map_type")]
    if not maps:
        return proto
    copy = type(proto)()
    copy.CopyFrom(proto)
    for i in maps:
        copy.graph.output[i].type.tensor_type.elem_type = ir.DataType.FLOAT
    return copy


def numbers_only(model: ir.Model) -> ir.Model:
    """The model itself, with maps and labels of text replaced by numbers where nothing else is made of them."""
    notes: list[Diagnostic] = []
    for node in [n for n in model.graph if n.op_type == "ZipMap" and n.domain == ML]:
        notes.append(_without_map(model.graph, node))
    for node in [n for n in model.graph if "classlabels_strings" in n.attributes]:
        notes += _numbered_classes(node)
    for name in [n for n, v in model.graph.initializers.items() if v.dtype == ir.DataType.STRING]:
        notes += _numbered_table(model.graph, name)
    if notes:
        model.meta[NOTES] = notes
    return model


def _without_map(graph: ir.Graph, node: ir.Node) -> Diagnostic:
    labels = [list(a.value) for name, a in node.attributes.items() if name.startswith("classlabels")]
    plain = ir.node("Identity", [node.inputs[0]])
    old, new = node.outputs[0], plain.outputs[0]
    new.name, new.type = old.name, ir.TensorType(ir.DataType.FLOAT)
    graph.insert_before(node, plain)
    old.replace_all_uses_with(new, replace_graph_outputs=True)
    graph.remove(node, safe=True)
    why = f"the source gives a map for each row; its columns are the labels {labels[0] if labels else ''}"
    return Diagnostic(code="MIG322", severity="note", what=f"the output {new.name!r} is a table", why=why)


def _followers(value: ir.Value) -> list[ir.Value] | None:
    """The values that are `value` in another shape; None where anything else takes it."""
    found = [value]
    for node, index in value.uses():
        if node.op_type not in _MOVES or index != 0:
            return None
        more = _followers(node.outputs[0])
        if more is None:
            return None
        found += more
    return found


def _as_places(values: list[ir.Value]) -> None:
    """Let the values be whole numbers, whatever text they were."""
    for value in values:
        value.type = ir.TensorType(ir.DataType.INT64)
        for node, _ in value.uses():
            if node.op_type == "Cast":
                node.attributes["to"] = ir.AttrInt64("to", int(ir.DataType.INT64))


def _numbered_classes(node: ir.Node) -> list[Diagnostic]:
    values = _followers(node.outputs[0])
    if values is None:
        return []
    names = list(node.attributes.pop("classlabels_strings").value)
    node.attributes["classlabels_ints"] = ir.AttrInt64s("classlabels_ints", range(len(names)))
    _as_places(values)
    return [_told(values[-1], names)]


def _numbered_table(graph: ir.Graph, name: str) -> list[Diagnostic]:
    """A list of labels from which some are picked."""
    table = graph.initializers[name]
    uses = [node for node, index in table.uses() if node.op_type in _PICKS and index == 0]
    picked = [_followers(node.outputs[0]) for node in uses]
    if table.const_value is None or len(uses) != len(table.uses()) or None in picked:
        return []
    content = table.const_value.numpy()
    places = ir.tensor(range(content.size), ir.DataType.INT64).numpy().reshape(content.shape)
    table.const_value = ir.Tensor(places, name=name)
    values = [value for values in picked if values is not None for value in values]
    table.type = ir.TensorType(ir.DataType.INT64)
    _as_places(values)
    names = [v.decode() if isinstance(v, bytes) else str(v) for v in content.reshape(-1)]
    return [_told(values[-1], names)] if values else []


def _told(value: ir.Value, names: list[str]) -> Diagnostic:
    shown = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    what = f"the labels {value.name!r} are places in the list of labels"
    return Diagnostic(code="MIG323", severity="note", what=what, why=f"the source gives text: {shown}")
