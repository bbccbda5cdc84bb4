"""What a SavedModel says of its variables: which tensor of the checkpoint each is, its name, and whether it is trained.

A variable is a node of the graph. The operation that restores the model says from which key each is read; the graph of
objects, walked beside that of the checkpoint, says what object a key belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from migrate.frontends.tensorflow.checkpoint import Checkpoint, Stored
from migrate.frontends.tensorflow.flatten import Flattener, Frame
from migrate.frontends.tensorflow.messages import damaged, parse

HANDLES = ("VarHandleOp", "VariableV2", "Variable")
_ASSIGNS = ("AssignVariableOp", "Assign")


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: its name, where its content is, and whether it is trained."""

    name: str
    stored: Stored
    trainable: bool


def find_variables(meta: Any, flat: Flattener, nodes: list[Any], checkpoint: Checkpoint | None) -> dict[str, Variable]:
    """The variables that flat nodes use, by the name of the node.

    Raises:
        MigrateError: exit status 3, MIG151: one of them is in no checkpoint.
    """
    used = [node for node in nodes if node.op in HANDLES]
    if not used:
        return {}
    if checkpoint is None:
        raise damaged(flat.where, "its folder of variables is missing")
    keys = _keys(meta, flat)
    for node in used:
        keys.setdefault(node.name, node.attr["shared_name"].s.decode() or node.name)
        if keys[node.name] not in checkpoint.tensors:
            raise damaged(flat.where, f"the checkpoint has no {keys[node.name]!r} for the variable {node.name!r}")
    saved = _objects(meta.object_graph_def, checkpoint.objects)
    frozen = _frozen(meta.object_graph_def.nodes)
    trained = _collected(meta)
    found = {
        node.name: _variable(node.name, keys[node.name], saved, checkpoint.tensors[keys[node.name]], trained, frozen)
        for node in used
    }
    names = [variable.name for variable in found.values()]
    return {
        node: variable if names.count(variable.name) == 1 else replace(variable, name=_path(keys[node]))
        for node, variable in found.items()
    }


def _variable(
    node: str, key: str, saved: dict[str, Any], stored: Stored, trained: set[str], frozen: set[str]
) -> Variable:
    variable = saved.get(key)
    if variable is None:
        return Variable(node, stored, node in trained)
    name = variable.name.partition(":")[0] or _path(key)
    return Variable(name, stored, variable.trainable and variable.name not in frozen)


def _path(key: str) -> str:
    return key.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE")


def _keys(meta: Any, flat: Flattener) -> dict[str, str]:
    """The key in the checkpoint of each variable, by the name of its node, as the model is restored."""
    restore = flat.top.nodes.get(meta.saver_def.restore_op_name)
    frames = [flat.top]
    if restore is not None and flat.callee(restore) is not None:
        frames.append(flat.enter(flat.top, restore))
    found: dict[str, str] = {}
    for frame in frames:
        for node in frame.nodes.values():
            if node.op in _ASSIGNS and len(node.input) >= 2:
                key = _restored(flat, frame, node.input[1])
                if key is not None:
                    found.setdefault(flat.name(*flat.place(frame, node.input[0])[:2]), key)
    return found


def _restored(flat: Flattener, frame: Frame, text: str) -> str | None:
    owner, node, index = flat.place(frame, text)
    while node.op == "Identity":
        owner, node, index = flat.place(owner, node.input[0])
    if node.op != "RestoreV2":
        return None
    _, names, _ = flat.place(owner, node.input[1])
    listed = names.attr["value"].tensor.string_val
    return listed[index].decode() if index < len(listed) else None


def _objects(saved: Any, stored: Any) -> dict[str, Any]:
    """For each key of the checkpoint the variable, among the saved objects, that it belongs to."""
    found: dict[str, Any] = {}
    if stored is None or not saved.nodes or not stored.nodes:
        return found
    seen: set[tuple[int, int]] = set()
    waiting = [(0, 0)]
    while waiting:
        ours, theirs = waiting.pop()
        if (ours, theirs) in seen or ours >= len(saved.nodes) or theirs >= len(stored.nodes):
            continue
        seen.add((ours, theirs))
        for attribute in stored.nodes[theirs].attributes:
            found.setdefault(attribute.checkpoint_key, saved.nodes[ours].variable)
        there = {child.local_name: child.node_id for child in stored.nodes[theirs].children}
        waiting += [(c.node_id, there[c.local_name]) for c in saved.nodes[ours].children if c.local_name in there]
    return found


def _frozen(nodes: Any) -> set[str]:
    """The names that Keras lists, but not among what it trains: a variable's flag does not know that its layer is frozen."""
    lists = {child.local_name: child.node_id for child in (nodes[0].children if nodes else ())}
    if "trainable_variables" not in lists:
        return set()
    named = {
        key: {nodes[child.node_id].variable.name for child in nodes[lists[key]].children}
        for key in ("variables", "trainable_variables") if key in lists
    }  # fmt: skip
    return named.get("variables", set()) - named["trainable_variables"]


def _collected(meta: Any) -> set[str]:
    """The names of the nodes that a model of TensorFlow 1 trains."""
    entries = meta.collection_def["trainable_variables"].bytes_list.value
    return {parse("VariableDef", entry, "a collection").variable_name.partition(":")[0] for entry in entries}
