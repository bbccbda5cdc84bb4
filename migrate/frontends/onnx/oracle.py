"""Runs an ONNX model by the engine it was made for, so that a conversion can be held against it.

ONNX Runtime without graph optimisation; where that refuses the model, the reference evaluator of the `onnx` package. Weights
can be replaced and intermediate values fetched. Knows no package and judges nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from migrate.errors import Diagnostic, Exit, MigrateError, error
from migrate.frontends.onnx import open_onnx
from migrate.frontends.onnx.lift import (
    Array,
    NoSuchWeight,
    Target,
    has_half,
    input_name,
    opened,
    origin,
    place,
    widened,
)
from migrate.graph import Dim, Graph

_EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"
_SPIN = "session.intra_op.allow_spinning"
_SILENT = 4
_MAX_SESSIONS = 4


def output_axes(graph: Graph) -> list[int | None]:
    """For each output the axis that follows the batch, or None."""
    batch = graph.batch
    if batch is None:
        return [None] * len(graph.outputs)
    return [next((i for i, s in enumerate(v.shape) if _follows(s, batch)), None) for v in graph.outputs]


def _follows(size: Any, batch: Dim) -> bool:
    return isinstance(size, Dim) and all(s % b == 0 for s, b in zip(size.values, batch.values, strict=True))


class _Reference:
    """The reference evaluator behind the interface of a session."""

    def __init__(self, model: Any) -> None:
        from onnx.reference import ReferenceEvaluator

        self._evaluator = ReferenceEvaluator(model, new_ops=[_inference_batch_norm()])

    def run(self, names: list[str], feeds: dict[str, Array]) -> list[Any]:
        return [np.asarray(value) for value in self._evaluator.run(names, feeds)]  # pyright: ignore[reportArgumentType]


def _inference_batch_norm() -> Any:
    """BatchNormalization of opset 9 to 13 as it is meant at inference; the evaluator of `onnx` runs it as in training."""
    from onnx.reference.op_run import OpRun

    class BatchNormalization_9(OpRun):  # noqa: N801 - the evaluator reads the version from the name
        def _run(self, x: Array, scale: Array, bias: Array, mean: Array, var: Array, **attributes: Any) -> Any:
            shape = (1, -1) + (1,) * (x.ndim - 2)
            centred = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + attributes.get("epsilon", 1e-5))
            return ((centred * scale.reshape(shape) + bias.reshape(shape)).astype(x.dtype),)

    BatchNormalization_9.op_domain = ""
    return BatchNormalization_9


class OnnxOracle:
    """A source model that can be run.

    Args:
        source: a path, or an `onnx.ModelProto`.
        graph: the common graph made from it. It says which axes are the batch; without it, inputs are passed as they are.
        threads: of the engine; by default `OMP_NUM_THREADS`, else two at most.
    """

    def __init__(self, source: Path | Any, graph: Graph | None = None, *, threads: int | None = None) -> None:
        self._source = source
        self._model: ir.Model = open_onnx(source)
        self._as_stored = isinstance(source, Path) and not has_half(self._model)
        if has_half(self._model):
            self._model = widened(self._model)
        self._threads = threads or int(os.environ.get("OMP_NUM_THREADS") or min(2, os.cpu_count() or 1))
        self._sessions: dict[tuple[frozenset[Target], tuple[str, ...]], Any] = {}
        self.notes: list[Diagnostic] = []
        self.engine = ""
        initializers = self._model.graph.initializers
        self._inputs = [v for v in self._model.graph.inputs if v.name not in initializers]
        self._graph = graph
        self._chunk = self._declared_batch()

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

    def uses_of(self, source: str) -> list[tuple[str, str, int]]:
        """Each use of a weight, seen through `Identity`: the node's name, its operator, the index of its input."""
        return [
            (place(node), node.op_type, index)
            for node in self._model.graph
            for index, value in enumerate(node.inputs)
            if node.op_type != "Identity" and (found := origin(value)) is not None and found.name == source
        ]

    def run(self, inputs: Sequence[Array], overrides: Mapping[Target, Array] | None = None) -> list[Array]:
        """The outputs for these inputs (in order), with weights replaced by those in `overrides`.

        Replacing the same weights again needs no new session.

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
        """Give back the memory of all sessions."""
        self._sessions.clear()

    # ---- batches

    def _declared_batch(self) -> int | None:
        """The batch that the source fixes: in its inputs' shapes, or inside (then 1, as the importer noted)."""
        graph = self._graph
        if graph is None or graph.batch is None:
            return None
        for value, made in zip(self._inputs, graph.inputs, strict=True):
            axis = graph.batch_axes.get(made.name)
            if axis is not None and value.shape is not None and isinstance(value.shape[axis], int):
                return int(value.shape[axis])  # pyright: ignore[reportArgumentType]
        return 1 if any(note.code == "MIG301" for note in graph.notes) else None

    def _run(self, inputs: Sequence[Array], overrides: Mapping[Target, Array], names: list[str]) -> list[Array]:
        session = self._session(overrides, names)
        feeds = {input_name(target): np.ascontiguousarray(array) for target, array in overrides.items()}
        given = [_cast(array, value) for array, value in zip(inputs, self._inputs, strict=True)]
        axes = [self._graph.batch_axes.get(v.name) for v in self._graph.inputs] if self._graph else [None] * len(given)
        total = next((a.shape[i] for a, i in zip(given, axes, strict=True) if i is not None), None)
        if self._chunk is None or total is None or total == self._chunk:
            return self._call(session, names, feeds | dict(zip(self.input_names, given, strict=True)))
        parts: list[list[Array]] = []
        for start in range(0, total, self._chunk):
            part = [_part(a, i, start, self._chunk) for a, i in zip(given, axes, strict=True)]
            parts.append(self._call(session, names, feeds | dict(zip(self.input_names, part, strict=True))))
        groups = zip(zip(*parts, strict=True), self._axes(names), strict=True)
        return [_joined(list(group), axis, total, self._chunk) for group, axis in groups]

    def _axes(self, names: list[str]) -> list[int | None]:
        assert self._graph is not None
        known = dict(zip(self.output_names, output_axes(self._graph), strict=True))
        return [known.get(name, 0) for name in names]

    # ---- engines

    def _session(self, overrides: Mapping[Target, Array], names: list[str]) -> Any:
        extra = tuple(n for n in names if n not in self.output_names)
        key = (frozenset(overrides), extra)
        if key not in self._sessions:
            while len(self._sessions) >= _MAX_SESSIONS:
                self._sessions.pop(next(iter(self._sessions)))
            self._sessions[key] = self._open(overrides, extra)
        return self._sessions[key]

    def _open(self, overrides: Mapping[Target, Array], extra: tuple[str, ...]) -> Any:
        if not overrides and not extra and self._as_stored:
            return self._engine(str(self._source))
        try:
            model = opened(self._model, set(overrides), extra)
        except NoSuchWeight as fault:
            why = f"the source has no weight {fault}"
            raise MigrateError([error("MIG504", "weights cannot be replaced", why=why)], Exit.PARITY) from fault
        return self._engine(ir.to_proto(model))

    def _engine(self, model: Any) -> Any:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
        options.log_severity_level = _SILENT
        options.add_session_config_entry(_SPIN, "0")
        if isinstance(self._source, Path):
            options.add_session_config_entry(_EXTERNAL_FOLDER, str(self._source.parent.resolve()))
        ort.set_default_logger_severity(_SILENT)
        content = model if isinstance(model, str) else model.SerializeToString()
        try:
            session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as fault:  # pybind gives each status its own class, all plain Exceptions
            return self._second_engine(model, fault)
        self.engine = self.engine or f"onnxruntime {ort.__version__}, graph optimisation off"
        return session

    def _second_engine(self, model: Any, fault: Exception) -> Any:
        import onnx

        reason = str(fault).strip().split("\n")[0][:200]
        try:
            loaded = onnx.load(model) if isinstance(model, str) else model
            session = _Reference(loaded)
        except Exception as second:  # the evaluator raises whatever its operators raise
            why = f"ONNX Runtime: {reason}; onnx.reference: {second}"
            raise MigrateError([error("MIG502", "no engine runs the source", why=why)], Exit.PARITY) from second
        self.engine = f"onnx.reference {onnx.__version__}"
        note = Diagnostic(
            code="MIG502",
            severity="note",
            what="the source is run by the reference evaluator of the onnx package",
            why=f"ONNX Runtime refuses it: {reason}",
        )
        if note not in self.notes:
            self.notes.append(note)
        return session

    def _call(self, session: Any, names: list[str], feeds: dict[str, Array]) -> list[Array]:
        try:
            return [np.asarray(value) for value in session.run(names, feeds)]
        except Exception as fault:  # see _engine
            shapes = ", ".join(f"{n}: {list(feeds[n].shape)}" for n in self.input_names)
            why = str(fault).strip().split("\n")[0][:300]
            found = error("MIG503", "the source's engine fails on its inputs", where=shapes, why=why)
            raise MigrateError([found], Exit.PARITY) from fault


def _cast(array: Array, value: ir.Value) -> Array:
    return np.ascontiguousarray(array, dtype=None if value.dtype is None else value.dtype.numpy())


def _part(array: Array, axis: int | None, start: int, count: int) -> Array:
    """Samples `start` to `start + count`; where there are too few, the last is repeated."""
    if axis is None:
        return array
    order = np.minimum(np.arange(start, start + count), array.shape[axis] - 1)
    return np.ascontiguousarray(np.take(array, order, axis=axis))


def _joined(parts: list[Array], axis: int | None, total: int, chunk: int) -> Array:
    """The first `total` samples of all parts; an output that does not follow the batch is taken from the first part."""
    if axis is None or parts[0].ndim <= axis:
        return parts[0]
    whole = np.concatenate(parts, axis=axis)
    rows = parts[0].shape[axis] * total // chunk
    return np.ascontiguousarray(whole[(slice(None),) * axis + (slice(0, rows),)])
