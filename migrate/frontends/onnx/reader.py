"""Reading an ONNX file into onnx-ir, memory-mapped; a file that is no ONNX model ends in a diagnostic."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx_ir.passes.common import InlinePass

from migrate.errors import Exit, MigrateError, error
from migrate.frontends.onnx.labels import without_map_types
from migrate.frontends.onnx.structure import faults, order_nodes, tensors_of

_SHOWN = 5
_LARGEST_OPSET = 2**31 - 1  # an opset is compared with those of schemas, which are 32-bit numbers


def read_model(path: Path) -> ir.Model:
    """The model of a file, its external data checked to lie beside it.

    Raises:
        MigrateError: exit status 3; MIG101 unreadable, MIG102 not a valid model, MIG103 unsafe external data.
    """
    try:
        if path.stat().st_size == 0:
            raise _refuse("MIG102", path, "the file is empty")
        model = parsed(onnx.load(path, load_external_data=False), path)
        ir.external_data.set_base_dir(model.graph, path.parent)
    except OSError as fault:
        raise _refuse("MIG101", path, fault.strerror or str(fault)) from fault
    except MigrateError:
        raise
    except Exception as fault:  # the protobuf parser raises many kinds for broken bytes
        raise _refuse("MIG102", path, _first_line(fault)) from fault
    return check_model(model, path)


def parsed(proto: onnx.ModelProto, path: Path) -> ir.Model:
    """The model of a message.

    Raises:
        MigrateError: exit status 3, MIG102: its parts do not fit together.
    """
    try:
        return ir.from_proto(without_map_types(proto))
    except Exception as fault:  # onnx-ir raises many kinds
        raise _refuse("MIG102", path, _first_line(fault)) from fault


def check_model(model: ir.Model, path: Path, *, external: bool = True) -> ir.Model:
    """The model itself, its nodes in the order in which they run, with what cannot be read refused at once.

    Args:
        model: as onnx-ir reads it.
        path: its file, beside which external data lies.
        external: whether there is such a file.
    """
    if not model.graph.outputs or not len(model.graph):
        raise _refuse("MIG102", path, "it holds no graph with nodes and outputs")
    if not any(model.opset_imports.values()):
        raise _refuse("MIG102", path, "it declares no opset")
    if wrong := [version for version in model.opset_imports.values() if not 0 <= version <= _LARGEST_OPSET]:
        raise _refuse("MIG102", path, f"it declares opset {wrong[0]}")
    for name, tensor in tensors_of(model):
        if isinstance(tensor, ir.ExternalTensor):
            _check_external(name, tensor, path, external)
    if found := list(faults(model)):
        more = f", and {len(found) - _SHOWN} more faults" if len(found) > _SHOWN else ""
        raise _refuse("MIG102", path, "; ".join(found[:_SHOWN]) + more)
    try:
        order_nodes(model)
    except ValueError as fault:
        raise _refuse("MIG102", path, "its nodes form a cycle") from fault
    return model


def digest_of(source: Path | Any, model: ir.Model) -> str:
    """The SHA-256 of a model's file, or of a `ModelProto`'s bytes.

    Where tensors lie in further files, it is that of the digest of the model's file followed by theirs (32 bytes each),
    in order of name: no weight changes without it.
    """
    if not isinstance(source, Path):
        return hashlib.sha256(source.SerializeToString()).hexdigest()
    names = sorted({str(t.location) for _, t in tensors_of(model) if isinstance(t, ir.ExternalTensor)})
    own, *others = [_file_digest(path) for path in (source, *(source.parent / name for name in names))]
    return (hashlib.sha256(own + b"".join(others)).digest() if others else own).hex()


def _file_digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def mapped(tensor: ir.ExternalTensor) -> np.ndarray[Any, np.dtype[Any]]:
    """The content of a tensor in a file of its own, mapped for as long as the array is held: then its memory is free again."""
    return ir.ExternalTensor(
        tensor.location, tensor.offset, tensor.length, tensor.dtype, shape=tensor.shape, name=tensor.name or "",
        base_dir=tensor.base_dir,
    ).numpy()  # fmt: skip


def inline_functions(model: ir.Model, path: Path) -> ir.Model:
    """The model itself, with calls of its own functions replaced by their nodes."""
    if not model.functions:
        return model
    try:
        InlinePass()(model)
    except ir.passes.PreconditionError as fault:
        raise _refuse("MIG102", path, _first_line(fault)) from fault
    return model


def _check_external(name: str, tensor: ir.ExternalTensor, path: Path, external: bool) -> None:
    if not external:
        raise _refuse("MIG101", path, f"the data of {name!r} lies in a file: give the model's path, or load the data")
    folder = path.parent.resolve()
    try:
        place = (folder / tensor.location).resolve()
        found = place.is_file() and place.stat().st_size
    except (OSError, ValueError) as fault:  # a name too long, or with characters that no name has
        raise _refuse("MIG103", path, f"external data of {name!r} has no possible place: {fault}") from fault
    if not place.is_relative_to(folder) or Path(tensor.location).is_absolute():
        raise _refuse("MIG103", path, f"external data of {name!r} points outside its folder")
    offset, length = tensor.offset or 0, tensor.length or tensor.nbytes
    if offset < 0 or length < tensor.nbytes or not found or found < offset + length:
        raise _refuse("MIG101", path, f"external data {tensor.location!r} of {name!r} is missing or too short")


def _refuse(code: str, path: Path, why: str) -> MigrateError:
    what = {"MIG101": "cannot read the file", "MIG102": "not a valid ONNX model", "MIG103": "unsafe external data"}[
        code
    ]
    todo = "" if code == "MIG101" else "check the file with onnx.checker, or export it again"
    return MigrateError([error(code, what, where=path.name, why=why, todo=todo)], Exit.INPUT)


def _first_line(fault: BaseException) -> str:
    cause: Any = fault
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return (str(cause).strip() or type(cause).__name__).split("\n")[0][:200]
