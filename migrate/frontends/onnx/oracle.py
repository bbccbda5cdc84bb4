"""Runs an ONNX model by the engine it was made for, so that a conversion can be held against it.

ONNX Runtime without graph optimisation; where that refuses the model, the reference evaluator of the `onnx` package. Weights
can be replaced and intermediate values fetched. Knows no package and judges nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from migrate.errors import Diagnostic, Exit, MigrateError, error
from migrate.frontends.onnx import open_onnx
from migrate.frontends.onnx.engines import Engine, open_engine
from migrate.frontends.onnx.evaluation import in_evaluation
from migrate.frontends.onnx.importer import entry_for
from migrate.frontends.onnx.labels import NOTES
from migrate.frontends.onnx.lift import (
    Array,
    NoSuchWeight,
    Target,
    attribute_weights,
    content_of,
    has_half,
    input_name,
    opened,
    origin,
    place,
    rearranged_from,
    widened,
    with_attributes,
)
from migrate.frontends.onnx.structure import all_graphs
from migrate.graph import Graph
from migrate.graph.chunks import input_axes, joined, output_axes, part

_MAX_ENGINES = 4
_BY_THREADS = (
    "DynamicQuantizeLSTM",
)  # it rounds its rows in as many parts as there are threads, each with its own range


class OnnxOracle:
    """A source model that can be run.

    Args:
        source: a path, or an `onnx.ModelProto`.
        graph: the common graph made from it. It says which axes are the batch; without it, inputs are passed as they are.
        threads: of the engine; by default `OMP_NUM_THREADS`, else two at most.
    """

    def __init__(self, source: Path | Any, graph: Graph | None = None, *, threads: int | None = None) -> None:
        self._source = source
        stored = open_onnx(source)
        self._model: ir.Model = in_evaluation(stored)
        self._as_stored = (
            isinstance(source, Path) and self._model is stored and not has_half(stored) and NOTES not in stored.meta
        )
        if has_half(self._model):
            self._model = widened(self._model)
        self._threads = threads or int(os.environ.get("OMP_NUM_THREADS") or min(2, os.cpu_count() or 1))
        if any(node.op_type in _BY_THREADS for graph in all_graphs(self._model.graph) for node in graph):
            self._threads = 1
        self._engines: dict[tuple[frozenset[Target], tuple[str, ...]], Engine] = {}
        self.notes: list[Diagnostic] = []
        self.engine = ""
        initializers = self._model.graph.initializers
        self._inputs = [v for v in self._model.graph.inputs if v.name not in initializers]
        self._graph: Graph | None = None
        self._grids: dict[Target, Callable[[Array], Array]] = {}
        self._chunk: int | None = None
        if graph is not None:
            self.follow(graph)

    def follow(self, graph: Graph) -> None:
        """Take from the graph which axes of inputs and outputs are the batch, so that a fixed one is run in parts."""
        self._graph = graph
        self._chunk = self._declared_batch()
        weights = [value.weight for value in graph.weights() if value.weight is not None]
        self._grids = {weight.source: weight.grid for weight in weights if weight.grid is not None}

    @property
    def input_names(self) -> list[str]:
        """The true inputs, in order."""
        return [v.name or "" for v in self._inputs]

    @property
    def output_names(self) -> list[str]:
        """The outputs, in order."""
        return [v.name or "" for v in self._model.graph.outputs]

    def outputs_of(self) -> dict[str, tuple[str, ...]]:
        """For each node of the main graph, by its name as diagnostics show it, the names of its outputs."""
        return {place(node): tuple(v.name or "" for v in node.outputs) for node in self._model.graph}

    def weight(self, name: str) -> Array | None:
        """The content of a weight of the main graph, None where there is none of that name; 16-bit floats as float32."""
        value = self._values.get(name)
        return None if value is None else content_of(value)

    def weights_into(self, node: str) -> list[str]:
        """The float weights that a node takes, by name, seen through `Identity`."""
        found = self._nodes.get(node)
        sources = [origin(v) for v in found.inputs] if found is not None else []
        contents = [(v.name or "", content_of(v)) for v in sources if v is not None]
        return [name for name, content in contents if content is not None and content.dtype.kind == "f"]

    def uses(self, source: str, nodes: Sequence[str], op: str, position: int) -> list[Target]:
        """The uses of a weight by these nodes, as argument `position` of the graph's op `op`."""
        found: list[Target] = []
        for name in nodes:
            node = self._nodes.get(name)
            entry = entry_for(self._model, node) if node is not None else None
            if node is None or entry is None:
                continue
            order = entry.arguments.get(op)
            taken = [(i, v) for i, v in enumerate(node.inputs) if not order or order[position] == entry.input_name(i)]
            found += [(name, i) for i, v in taken if (made := origin(v)) is not None and made.name == source]
        return found

    def learned_weights(self) -> list[str]:
        """Tensors of rank 1 or more that are a weight of a layer, directly or cut, joined and turned on the way there."""
        names: dict[str, None] = {}
        for node in self._nodes.values():
            entry = entry_for(self._model, node)
            for index, value in enumerate(node.inputs):
                if entry is not None and entry.input_name(index) in entry.learns:
                    names |= dict.fromkeys(v.name or "" for v in rearranged_from(value))
        return list(names)

    def logits_of(self, output: int) -> str | None:
        """The value from which a final softmax or sigmoid makes an output; None where it ends in neither."""
        value = origin(self._model.graph.outputs[output])
        node = value.producer() if value is not None else None
        if node is None or node.op_type not in ("Softmax", "Sigmoid", "LogSoftmax"):
            return None
        return node.inputs[0].name if node.inputs[0] is not None else None

    def state(self) -> None:
        """The names of an ONNX file are no keys of a state."""
        return

    def losses(self, steps: int) -> None:
        """An ONNX file says nothing of how it is trained."""

    def learning(self, inputs: Sequence[Array], seed: int) -> None:
        """ONNX Runtime does not train."""
        del inputs, seed

    def settings(self) -> dict[str, dict[str, float]]:
        """What BatchNormalization and Dropout nodes fix about training, in torch's terms: `momentum`, `eps`, `p`."""
        found: dict[str, dict[str, float]] = {}
        for name, node in self._nodes.items():
            if node.op_type == "BatchNormalization":
                momentum, eps = _number(node, "momentum", 0.9), _number(node, "epsilon", 1e-5)
                found[name] = {"momentum": 1.0 - momentum, "eps": eps}
            elif node.op_type == "Dropout":
                given = origin(node.inputs[1]) if len(node.inputs) > 1 else None
                ratio = None if given is None else content_of(given)
                found[name] = {"p": _number(node, "ratio", 0.5) if ratio is None else float(ratio.reshape(-1)[0])}
        return found

    @cached_property
    def _nodes(self) -> dict[str, ir.Node]:
        return {place(node): node for node in self._model.graph}

    @cached_property
    def _attributes(self) -> frozenset[str]:
        return attribute_weights(self._model)

    @cached_property
    def _values(self) -> dict[str, ir.Value]:
        made = {v.name or "": v for node in self._model.graph for v in node.outputs}
        return made | dict(self._model.graph.initializers.items())

    def run(self, inputs: Sequence[Array], overrides: Mapping[Target, Array] | None = None) -> list[Array]:
        """The outputs for these inputs (in order), with weights replaced by those in `overrides`.

        Replacing the same weights again needs no new engine.

        Raises:
            MigrateError: no engine takes the model (MIG502) or these inputs (MIG503), exit status 5.
        """
        return self._run(inputs, overrides or {}, self.output_names)

    def intermediates(
        self, inputs: Sequence[Array], names: Sequence[str], overrides: Mapping[Target, Array] | None = None
    ) -> dict[str, Array]:
        """Named values of the main graph. Where the source's batch is fixed, samples are joined along the first axis."""
        wanted = list(dict.fromkeys(names))
        return dict(zip(wanted, self._run(inputs, overrides or {}, wanted), strict=True))

    def release(self) -> None:
        """Give back the memory of all engines."""
        self._engines.clear()

    # ---- batches

    def _declared_batch(self) -> int | None:
        """The batch that the source fixes: in its inputs' shapes, or inside (then 1, as the importer noted)."""
        graph = self._graph
        if graph is None or graph.batch is None:
            return None
        for value, axis in zip(self._inputs, input_axes(graph), strict=True):
            declared = value.shape[axis] if axis is not None and value.shape is not None else None
            if isinstance(declared, int) and declared > 0:  # some exporters write -1 for a free size
                return declared
        return 1 if any(note.code == "MIG301" for note in graph.notes) else None

    def _run(self, inputs: Sequence[Array], overrides: Mapping[Target, Array], names: list[str]) -> list[Array]:
        overrides = {t: self._grids[t](a) if t in self._grids else a for t, a in overrides.items()}
        engine = self._engine_for(overrides, names)
        given_weights = {target: array for target, array in overrides.items() if target not in self._attributes}
        feeds = {input_name(target): np.ascontiguousarray(array) for target, array in given_weights.items()}
        given = [_cast(array, value) for array, value in zip(inputs, self._inputs, strict=True)]
        axes = input_axes(self._graph) if self._graph else [None] * len(given)
        total = next((a.shape[i] for a, i in zip(given, axes, strict=True) if i is not None), None)
        if self._chunk is None or total is None or total == self._chunk:
            return self._call(engine, names, feeds | dict(zip(self.input_names, given, strict=True)))
        parts: list[list[Array]] = []
        for start in range(0, total, self._chunk):
            rows = [part(a, i, start, self._chunk) for a, i in zip(given, axes, strict=True)]
            parts.append(self._call(engine, names, feeds | dict(zip(self.input_names, rows, strict=True))))
        groups = zip(zip(*parts, strict=True), self._axes(names), strict=True)
        return [joined(list(group), axis, total, self._chunk) for group, axis in groups]

    def _axes(self, names: list[str]) -> list[int | None]:
        assert self._graph is not None
        known = dict(zip(self.output_names, output_axes(self._graph), strict=True))
        return [known.get(name, 0) for name in names]

    # ---- engines

    def _engine_for(self, overrides: Mapping[Target, Array], names: list[str]) -> Engine:
        extra = tuple(n for n in names if n not in self.output_names)
        key = (frozenset(overrides), extra)
        attributes: dict[Target, Array] = {t: overrides[t] for t in overrides if t in self._attributes}
        if attributes:  # an engine has them for good
            return self._open(overrides, extra, attributes)
        if key not in self._engines:
            while len(self._engines) >= _MAX_ENGINES:
                self._engines.pop(next(iter(self._engines)))
            self._engines[key] = self._open(overrides, extra, {})
        return self._engines[key]

    def _open(
        self, overrides: Mapping[Target, Array], extra: tuple[str, ...], attributes: Mapping[Target, Array]
    ) -> Engine:
        if not overrides and not extra and self._as_stored:
            return self._engine(self._source)
        try:
            model = opened(with_attributes(self._model, attributes), set(overrides) - set(attributes), extra)
        except NoSuchWeight as fault:
            why = f"the source has no weight {fault}"
            raise MigrateError([error("MIG504", "weights cannot be replaced", why=why)], Exit.PARITY) from fault
        return self._engine(ir.to_proto(model))

    def _engine(self, model: Path | Any) -> Engine:
        folder = self._source.parent.resolve() if isinstance(self._source, Path) else None
        engine = open_engine(model, threads=self._threads, folder=folder)
        self.engine = engine.name
        if engine.note is not None and engine.note not in self.notes:
            self.notes.append(engine.note)
        return engine

    def _call(self, engine: Engine, names: list[str], feeds: dict[str, Array]) -> list[Array]:
        try:
            return [np.asarray(value) for value in engine.run(names, feeds)]
        except Exception as fault:  # each engine raises what its operators raise
            shapes = ", ".join(f"{n}: {list(feeds[n].shape)}" for n in self.input_names)
            why = str(fault).strip().split("\n")[0][:300]
            found = error("MIG503", "the source's engine fails on its inputs", where=shapes, why=why)
            raise MigrateError([found], Exit.PARITY) from fault


def _cast(array: Array, value: ir.Value) -> Array:
    return np.ascontiguousarray(array, dtype=None if value.dtype is None else value.dtype.numpy())


def _number(node: ir.Node, name: str, default: float) -> float:
    attribute = node.attributes.get(name)
    return default if attribute is None else float(attribute.value)
