"""Opens SavedModel folders and frozen graphs of unknown origin: which graph is meant, its inputs, outputs and variables.

Nothing in them is executed, and no file outside of the folder is read. Knows messages; must not know an operator.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from migrate.errors import Exit, MigrateError, error
from migrate.frontends.archive import open_file
from migrate.frontends.tensorflow.checkpoint import BUNDLE, read_checkpoint
from migrate.frontends.tensorflow.flatten import Flattener
from migrate.frontends.tensorflow.keras_metadata import keras_layers
from migrate.frontends.tensorflow.messages import damaged, parse
from migrate.frontends.tensorflow.tensors import dims_of, type_name
from migrate.frontends.tensorflow.variables import Variable, find_variables

MAX_BYTES = 2 << 30  # the most that a message can have
MODEL, SERVE, INITIALISES = "saved_model.pb", "serving_default", "__saved_model_init_op"
MODE = re.compile(r"training|learning_phase|phase_train|train_phase")
PLACEHOLDERS = ("Placeholder", "PlaceholderV2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """An input or output: its name, the flat name of its value, its type, and its sizes (-1: free; None: not even the rank)."""

    name: str
    value: str
    dtype: str = ""
    dims: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorflowModel:
    """A model that has been read: flat nodes in order, and what is around them."""

    name: str
    path: Path
    kind: str
    version: str
    sha256: str
    nodes: list[Any]
    inputs: list[Port]
    outputs: list[Port]
    variables: dict[str, Variable]
    flat: Flattener
    signature: str = ""
    layers: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    draws: bool = False


def is_saved_model(path: Path) -> bool:
    """Whether a folder is a SavedModel."""
    return (path / MODEL).is_file()


def weights_alone(path: Path) -> bool:
    """Whether a file or folder is a checkpoint without a model."""
    inside = sorted(path.iterdir()) if path.is_dir() else [path]
    return any(BUNDLE.match(item.name) for item in inside)


def refuse_weights(path: Path) -> MigrateError:
    """MIG152, exit status 3."""
    todo = "save the whole model: model.export('folder') or tf.saved_model.save(model, 'folder')"
    return MigrateError(
        [error("MIG152", "a checkpoint holds weights and no model", where=path.name, todo=todo)], Exit.INPUT
    )


def read_tensorflow(path: Path) -> TensorflowModel:
    """Open a SavedModel's folder or a frozen graph.

    Raises:
        MigrateError: exit status 3, MIG101, MIG151: damaged, MIG153: none of its graphs is meant.
    """
    try:
        return _saved_model(path) if path.is_dir() else _frozen(path)
    except (KeyError, ValueError, IndexError) as fault:
        raise damaged(path.name, f"{type(fault).__name__}: {fault}") from fault


def _saved_model(path: Path) -> TensorflowModel:
    data = _bytes(path / MODEL)
    saved = parse("SavedModel", data, MODEL)
    graphs = [g for g in saved.meta_graphs if "serve" in g.meta_info_def.tags] or list(saved.meta_graphs)
    if not graphs:
        raise damaged(path.name, "it holds no graph")
    meta = graphs[0]
    chosen = _signature(path, meta)
    signature = meta.signature_def[chosen]
    flat = Flattener(meta.graph_def, meta.meta_info_def.stripped_op_list.op, path.name)
    stops = [info.name.partition(":")[0] for info in signature.inputs.values()]
    ends = _sorted(signature.outputs)
    nodes, values = flat.flatten(flat.top, [info.name for _, info in ends], stops)
    prefix = path / "variables" / "variables"
    has = prefix.with_name("variables.index").is_file()
    inputs = [_port(flat, name, info) for name, info in _sorted(signature.inputs)]
    return TensorflowModel(
        name=path.name, path=path, kind="SavedModel", version=str(meta.meta_info_def.tensorflow_version),
        sha256=_digest(path), nodes=nodes, inputs=inputs,
        outputs=[Port(name=name, value=value) for (name, _), value in zip(ends, values, strict=True)],
        variables=find_variables(meta, flat, nodes, read_checkpoint(prefix) if has else None),
        flat=flat, signature=chosen, layers=keras_layers(path, meta.object_graph_def),
        draws=any("seed_generator" in item.variable.name for item in meta.object_graph_def.nodes),
    )  # fmt: skip


def _signature(path: Path, meta: Any) -> str:
    """The signature that serves; else the only one that gives something."""
    names = [name for name, s in meta.signature_def.items() if name != INITIALISES and s.outputs]
    if SERVE in names:
        return SERVE
    if len(names) == 1:
        return names[0]
    why = f"its signatures are {', '.join(sorted(names))}" if names else "it has no signature"
    todo = f"save it with one that is named {SERVE!r}: tf.saved_model.save(model, folder, signatures=model.__call__)"
    raise MigrateError(
        [error("MIG153", "it is not said what to compute", where=path.name, why=why, todo=todo)], Exit.INPUT
    )


def _port(flat: Flattener, name: str, info: Any) -> Port:
    frame, node, index = flat.place(flat.top, info.name)
    dims = dims_of(info.tensor_shape)
    return Port(name=name, value=f"{flat.name(frame, node)}:{index}", dtype=type_name(info.dtype), dims=dims)


def _sorted(ports: Any) -> list[tuple[str, Any]]:
    """By name, numbers in it by their worth."""

    def key(name: str) -> list[Any]:
        return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", name)]

    return sorted(ports.items(), key=lambda item: key(item[0]))


def _frozen(path: Path) -> TensorflowModel:
    data = _bytes(path)
    graph = parse("GraphDef", data, path.name)
    if not graph.node or any(not node.op for node in graph.node):
        raise damaged(path.name, "it is no graph of TensorFlow")
    flat = Flattener(graph, (), path.name)
    inputs = [node for node in graph.node if node.op in PLACEHOLDERS and not _is_mode(node)]
    ends = _ends(graph.node)
    nodes, values = flat.flatten(flat.top, ends)
    used = {node.name for node in nodes}
    return TensorflowModel(
        name=path.name, path=path, kind="TensorFlow graph", version="", sha256=hashlib.sha256(data).hexdigest(),
        nodes=nodes, inputs=[_placeholder(node) for node in inputs if node.name in used],
        outputs=[Port(name=name, value=value) for name, value in zip(ends, values, strict=True)],
        variables=find_variables(None, flat, nodes, None),
        flat=flat,
    )  # fmt: skip


def _ends(nodes: Sequence[Any]) -> list[str]:
    """The nodes that nothing takes, and that compute something."""
    taken = {text.lstrip("^").partition(":")[0] for node in nodes for text in node.input}
    idle = ("NoOp", "Assert", "Const", "Print", "PrintV2", *PLACEHOLDERS)
    return [node.name for node in nodes if node.name not in taken and node.op not in idle]


def _is_mode(node: Any) -> bool:
    """Whether it says if the model learns, which a graph for evaluation is asked with false."""
    return type_name(node.attr["dtype"].type) == "bool" and MODE.search(node.name) is not None


def _placeholder(node: Any) -> Port:
    shape = node.attr["shape"].shape if "shape" in node.attr else None
    dims = dims_of(shape) if shape is not None else None
    return Port(name=node.name, value=f"{node.name}:0", dtype=type_name(node.attr["dtype"].type), dims=dims)


def _bytes(path: Path) -> bytes:
    with open_file(path) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise damaged(path.name, "it is too large for a message")
    return data


def _digest(path: Path) -> str:
    """Of the graph and of the variables, in the order of their names."""
    digest = hashlib.sha256()
    files = [path / MODEL, *sorted(p for p in (path / "variables").glob("variables.*") if p.is_file())]
    for item in files:
        with item.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
