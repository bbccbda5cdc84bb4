"""Engines that run an ONNX model as it is: ONNX Runtime without graph optimisation, else the `onnx` package's evaluator.

Knows no batch and no weight that is replaced.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from migrate.errors import Diagnostic, Exit, MigrateError, error
from migrate.frontends.onnx.lift import Array

_EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"
_SPIN = "session.intra_op.allow_spinning"
_SILENT = 4


class _Runner(Protocol):
    def run(self, _names: Any, _feeds: Any, /) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A model ready to run; `note` says why it is not the first choice."""

    name: str
    runner: _Runner
    note: Diagnostic | None = None

    def run(self, names: list[str], feeds: dict[str, Array]) -> list[Array]:
        """The named values."""
        return [np.asarray(value) for value in self.runner.run(names, feeds)]


def open_engine(model: Path | Any, *, threads: int, folder: Path | None = None) -> Engine:
    """The first engine that takes the model.

    Args:
        model: a path, which is not copied, or an `onnx.ModelProto`.
        threads: how many it may use.
        folder: where the external data of a `ModelProto` lies.

    Raises:
        MigrateError: MIG502, exit status 5: none takes it.
    """
    try:
        return _onnxruntime(model, threads, folder)
    except Exception as fault:  # pybind gives each status its own class, all plain Exceptions
        return _reference(model, folder, _first_line(fault))


def _onnxruntime(model: Path | Any, threads: int, folder: Path | None) -> Engine:
    os.environ.setdefault(
        "ORT_DISABLE_TELEMETRY", "1"
    )  # read on import; else it writes and sends records of the session
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = _SILENT
    options.add_session_config_entry(_SPIN, "0")
    if folder is not None:
        options.add_session_config_entry(_EXTERNAL_FOLDER, str(folder))
    ort.set_default_logger_severity(_SILENT)
    content = str(model) if isinstance(model, Path) else model.SerializeToString()
    session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return Engine(name=f"onnxruntime {ort.__version__}, graph optimisation off", runner=session)


def _reference(model: Path | Any, folder: Path | None, reason: str) -> Engine:
    import onnx
    from onnx.reference import ReferenceEvaluator

    try:
        loaded = onnx.load(model) if isinstance(model, Path) else model
        if folder is not None and not isinstance(model, Path):
            onnx.load_external_data_for_model(loaded, str(folder))
        runner = ReferenceEvaluator(loaded, new_ops=[_inference_batch_norm()])
    except Exception as fault:  # the evaluator raises whatever its operators raise
        why = f"ONNX Runtime: {reason}; onnx.reference: {_first_line(fault)}"
        raise MigrateError([error("MIG502", "no engine runs the source", why=why)], Exit.PARITY) from fault
    note = Diagnostic(
        code="MIG508",
        severity="note",
        what="the source is run by the reference evaluator of the onnx package",
        why=f"ONNX Runtime refuses it: {reason}",
    )
    return Engine(name=f"onnx.reference {onnx.__version__}", runner=runner, note=note)


def _inference_batch_norm() -> Any:
    """BatchNormalization of opset 9 to 13 as it is meant at inference; the evaluator of `onnx` runs it as in training."""
    from onnx.reference.op_run import OpRun

    class BatchNormalization_9(OpRun):  # noqa: N801 - the evaluator reads the version from the name
        op_domain = ""

        def _run(self, x: Array, scale: Array, bias: Array, mean: Array, var: Array, **attributes: Any) -> Any:
            shape = (1, -1) + (1,) * (x.ndim - 2)
            eps = attributes.get("epsilon") or 1e-5
            centred = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)
            return ((centred * scale.reshape(shape) + bias.reshape(shape)).astype(x.dtype),)

    return BatchNormalization_9


def _first_line(fault: Exception) -> str:
    return (str(fault).strip() or type(fault).__name__).split("\n")[0][:300]
