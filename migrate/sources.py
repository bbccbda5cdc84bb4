"""Recognising what the user gave, by content and not only by suffix, and handing it to its frontend."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from migrate.errors import Exit, MigrateError, error
from migrate.graph import Graph
from migrate.graph.description import Description

LATER = {
    ".pt2": "an exported PyTorch program",
    ".pt": "a PyTorch file",
    ".pth": "a PyTorch file",
    ".keras": "a Keras file",
    ".h5": "a Keras file",
    ".pb": "a TensorFlow graph",
    ".tflite": "a TensorFlow Lite file",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A source that has been read: `oracle` builds its own engine, `sha256` is of the file's bytes."""

    name: str
    sha256: str
    description: Description
    graph: Graph
    oracle: Callable[[], Any]


def open_source(source: str | Path | Any, input_shapes: dict[str, tuple[int, ...]] | None = None) -> Opened:
    """Read a source into the common graph.

    Raises:
        MigrateError: exit status 3 where it is no model that this version reads, 4 for unsupported constructs.
    """
    from migrate.frontends.onnx import OnnxOracle, describe, load_onnx, open_onnx

    where = Path(source) if isinstance(source, str | Path) else source
    if isinstance(where, Path):
        recognise(where)
        name, digest = where.name, _sha256(where)
    elif not hasattr(where, "opset_import"):
        what = f"a {type(where).__name__} is not a model that is read"
        raise MigrateError([error("MIG104", what, todo="give a path or an onnx.ModelProto")], Exit.INPUT)
    else:
        name, digest = "model.onnx", hashlib.sha256(where.SerializeToString()).hexdigest()
    model = open_onnx(where)
    return Opened(
        name=name,
        sha256=digest,
        description=describe(model),
        graph=load_onnx(model, input_shapes),
        oracle=lambda: OnnxOracle(where),
    )


def recognise(path: Path) -> None:
    """Refuse early, and by name, what is no ONNX file.

    Raises:
        MigrateError: exit status 3, MIG101 or MIG104.
    """
    try:
        _recognise(path)
    except OSError as fault:
        raise _refused("MIG101", path, fault.strerror or str(fault), "") from fault


def _recognise(path: Path) -> None:
    if path.is_dir():
        raise _refused("MIG104", path, "it is a folder", "TensorFlow's SavedModel is not read by this version")
    if not path.exists():
        raise _refused("MIG101", path, "there is no such file", "")
    if not path.is_file():  # reading a pipe or a device may never end
        raise _refused("MIG101", path, "it is no regular file", "")
    if path.suffix.lower() in LATER:
        raise _refused(
            "MIG104", path, f"it is {LATER[path.suffix.lower()]}", "this version reads ONNX; export to .onnx"
        )
    with path.open("rb") as file:
        head = file.read(8)
    if head[:4] in (b"PK\x03\x04", b"\x89HDF") or head[:2] == b"\x80\x02":
        raise _refused("MIG104", path, "its content is no ONNX model", "this version reads ONNX; export to .onnx")


def _refused(code: str, path: Path, why: str, todo: str) -> MigrateError:
    what = "cannot read the file" if code == "MIG101" else "not a format that is read"
    return MigrateError([error(code, what, where=path.name, why=why, todo=todo)], Exit.INPUT)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
