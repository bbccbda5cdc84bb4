"""Reading an ONNX file into onnx-ir, memory-mapped; a file that is no ONNX model ends in a diagnostic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx_ir as ir

from migrate.errors import Exit, MigrateError, error

LATEST_OPSET = 25


def read_model(path: Path) -> ir.Model:
    """The model of a file, its external data checked to lie beside it.

    Raises:
        MigrateError: exit status 3; MIG101 unreadable, MIG102 not a valid model, MIG103 unsafe external data.
    """
    try:
        if path.stat().st_size == 0:
            raise _refuse("MIG102", path, "the file is empty")
        model = ir.load(path)
    except OSError as fault:
        raise _refuse("MIG101", path, fault.strerror or str(fault)) from fault
    except MigrateError:
        raise
    except Exception as fault:  # the protobuf parser and onnx-ir raise many kinds for broken bytes
        raise _refuse("MIG102", path, _first_line(fault)) from fault
    return check_model(model, path)


def check_model(model: ir.Model, path: Path) -> ir.Model:
    """The model itself, with what cannot be read refused at once."""
    if not model.graph.outputs or not len(model.graph):
        raise _refuse("MIG102", path, "it holds no graph with nodes and outputs")
    opset = model.opset_imports.get("", model.opset_imports.get("ai.onnx", 0))
    if not opset:
        raise _refuse("MIG102", path, "it declares no opset of the default domain")
    _check_external(model, path)
    return model


def _check_external(model: ir.Model, path: Path) -> None:
    folder = path.parent.resolve()
    for value in model.graph.initializers.values():
        tensor = value.const_value
        if not isinstance(tensor, ir.ExternalTensor):
            continue
        place = (folder / tensor.location).resolve()
        if not place.is_relative_to(folder) or Path(tensor.location).is_absolute():
            raise _refuse("MIG103", path, f"external data of {value.name!r} points outside its folder")
        end = (tensor.offset or 0) + (tensor.length or tensor.nbytes)
        if not place.is_file() or place.stat().st_size < end:
            raise _refuse(
                "MIG101", path, f"external data {tensor.location!r} of {value.name!r} is missing or too short"
            )


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
