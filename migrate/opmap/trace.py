"""The trace of one training step as values, and the call that makes it in a process of its own.

The process is needed because torch allows one renamed device a process, and because an exception in a dispatcher during
backward aborts it. Must not load torch: the worker does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from migrate.errors import Diagnostic, Exit, MigrateError, error
from migrate.opmap.operators import resolve
from migrate.opmap.target import Target

Precision = Literal["fp32", "bf16", "fp16"]
# In the order of a step. `setup` is the first optimizer step, which also allocates the optimizer's state.
PHASES = ("forward", "loss", "backward", "clip", "setup", "optimizer")
TIMEOUT_SECONDS = 600
REPOSITORY = Path(__file__).parent.parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """Equal calls of one operator: same phase, module, dtypes and shapes.

    `state` is native, metadata, composed (its parts have rows of their own), registered (PyTorch has a decomposition
    that the device would have to register) or missing. `bytes` and `flops` are of one call; `dtype` is the one it
    computes in.
    """

    phase: str
    operator: str
    state: str
    module: str
    dtype: str
    dtypes: tuple[str, ...]
    shapes: str
    count: int
    bytes: int
    flops: int
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMemory:
    """Bytes on the device: sums over tensors, what autograd saved, and the largest total seen alive in the step."""

    parameters: int
    buffers: int
    gradients: int
    optimizer_state: int
    saved_activations: int
    peak: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recomputed:
    """The same step with activation checkpointing: the blocks that run again, what autograd saves, and the peak."""

    blocks: tuple[str, ...]
    saved_activations: int
    peak: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One training step on one target, at one batch size and precision."""

    target: str
    batch: int
    precision: str
    optimizer: str
    rows: tuple[TraceRow, ...]
    memory: StepMemory
    host_calls: Mapping[str, int]
    notes: tuple[str, ...]
    seconds: float
    recomputed: Recomputed | None = None


def trace_from_dict(document: Mapping[str, Any]) -> Trace:
    """The trace that the worker wrote as JSON."""
    rows = tuple(
        TraceRow(**(row | {"dtypes": tuple(row["dtypes"]), "parts": tuple(row["parts"])})) for row in document["rows"]
    )
    plain = {key: document[key] for key in ("target", "batch", "precision", "optimizer", "host_calls", "seconds")}
    again = document.get("recomputed")
    return Trace(
        **plain,
        rows=rows,
        memory=StepMemory(**document["memory"]),
        notes=tuple(document["notes"]),
        recomputed=Recomputed(**(again | {"blocks": tuple(again["blocks"])})) if again else None,
    )


def failure(document: Mapping[str, Any] | None, code: int, stderr: str) -> Diagnostic:
    """Why a step could not be traced: the worker's own words, or what it left on stderr."""
    if document is not None and "error" in document:
        found = document["error"]
        place = found["module"] or "the loss"
        what = f"the training step fails in {found['phase']}: {found['what']}"
        return error("MIG404", what, where=place, why=found["why"], todo="run the package's own training on the CPU")
    tail = "\n".join(stderr.strip().splitlines()[-8:])
    return error("MIG404", f"tracing the training step ended with status {code}", why=tail, todo="report this")


def worker_environment() -> dict[str, str]:
    """The environment of the worker: our own code importable, no plugin loaded by itself."""
    path = os.pathsep.join(p for p in (str(REPOSITORY), os.environ.get("PYTHONPATH", "")) if p)
    return os.environ | {"PYTHONPATH": path, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def trace_package(
    directory: Path, name: str, target: Target, *, batch: int, precision: Precision, optimizer: str = "adamw"
) -> Trace:
    """Traces one training step of the emitted package `name` in `directory` on `target`; nothing is allocated.

    Raises:
        MigrateError: MIG404 where the step cannot be traced.
    """
    with tempfile.TemporaryDirectory(prefix="migrate-trace-") as folder:
        profile, output = Path(folder) / "target.json", Path(folder) / "trace.json"
        profile.write_text(json.dumps(resolve(target)), encoding="utf-8")
        options = ["--target", str(profile), "--batch", str(batch), "--precision", precision, "--optimizer", optimizer]
        command = [
            sys.executable,
            "-m",
            "migrate.opmap.worker",
            str(directory),
            name,
            *options,
            "--output",
            str(output),
        ]
        try:
            done = subprocess.run(
                command, env=worker_environment(), capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as fault:
            what = f"tracing the training step took more than {TIMEOUT_SECONDS} seconds"
            raise MigrateError([error("MIG404", what, todo="try a smaller batch")], Exit.UNSUPPORTED) from fault
        document = json.loads(output.read_text(encoding="utf-8")) if output.is_file() else None
    if document is None or "error" in document:
        raise MigrateError([failure(document, done.returncode, done.stderr)], Exit.UNSUPPORTED)
    return trace_from_dict(document)
