"""Which kind of PyTorch file a file is, by its content. Loads no torch, unpickles nothing, and reads no tensor."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import BinaryIO, Literal

from migrate.errors import Exit, MigrateError, error
from migrate.frontends.archive import broken, open_archive, open_file, read_member, roots, unsafe
from migrate.frontends.pytorch.files_pickle import PickleFacts, PickleFault, read_legacy, read_pickle

Kind = Literal["pt2", "torchscript", "pickle"]
ZIP_HEADS = (b"PK\x03\x04", b"PK\x05\x06")
MAX_PICKLE = 256 << 20  # bytes of a pickle's instructions; tensors lie beside it
_SHOWN = 4
_OLD_PT2 = "serialized_exported_program.json"


def kind_of(path: Path) -> Kind | None:
    """The kind of a file, or None where it is neither a zip archive nor a pickle.

    Raises:
        MigrateError: exit status 3; MIG101 unreadable, MIG104 of another kind, MIG120 and MIG121 a broken or unsafe
            archive, MIG123 tensors without a model.
    """
    with open_file(path) as file:
        head = file.read(4)
        file.seek(0)
        if head in ZIP_HEADS:
            with open_archive(file, path.name) as archive:
                return _kind_of_archive(archive, path.name)
        if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
            return _kind_of_pickle(_facts(file, path.name, legacy=True), path.name)
    return None


def require_trust(path: Path, trusted: bool) -> None:
    """Refuse a file that is a program, unless the user trusts it.

    PyTorch's security policy says of TorchScript that it is to be treated as code that is executed, as of a pickle.

    Raises:
        MigrateError: exit status 3, MIG124.
    """
    if trusted:
        return
    names = ""
    with open_file(path) as file:
        if file.read(4) in ZIP_HEADS:
            file.seek(0)
            with open_archive(file, path.name) as archive:
                found = [m for m in archive.namelist() if m.endswith("data.pkl")]
                calls = _facts(io.BytesIO(read_member(archive, found[0], path.name)), path.name).calls
        else:
            file.seek(0)
            calls = _facts(file, path.name, legacy=True).calls
    names = ", ".join(calls[:_SHOWN]) + (", ..." if len(calls) > _SHOWN else "")
    what = error(
        "MIG124",
        "loading this file runs code that it names",
        where=path.name,
        why=f"it names {names}" if names else "TorchScript is a program",
        todo="give --trust-pickle if you trust its origin, or a factory that builds the module: package.module:function",
    )
    raise MigrateError([what], Exit.INPUT)


def _kind_of_archive(archive: zipfile.ZipFile, name: str) -> Kind:
    members = archive.namelist()
    tops = roots(archive)
    if _OLD_PT2 in members:
        return "pt2"
    if members and all(member.endswith(".npy") for member in members):
        raise _other(name, "it is a NumPy archive", "give a model; example inputs go to --example")
    if "config.json" in members and any(member.endswith(".weights.h5") for member in members):
        raise _other(name, "it is a Keras file", "this version reads ONNX and PyTorch; export to .onnx")
    if len(tops) != 1:
        raise _other(name, "it is a zip archive that PyTorch has not written", "give a model")
    top = tops.pop()
    if f"{top}/archive_format" in members:
        return "pt2"
    if f"{top}/data.pkl" not in members:
        raise _other(name, "it is a zip archive that PyTorch has not written", "give a model")
    if any(member.startswith(f"{top}/code/") for member in members):
        return "torchscript"
    if archive.NameToInfo[f"{top}/data.pkl"].file_size > MAX_PICKLE:
        raise unsafe(name, f"its pickle claims more than {MAX_PICKLE} bytes", f"{top}/data.pkl")
    return _kind_of_pickle(_facts(io.BytesIO(read_member(archive, f"{top}/data.pkl", name)), name), name)


def _facts(file: BinaryIO, name: str, *, legacy: bool = False) -> PickleFacts:
    try:
        return read_legacy(file) if legacy else read_pickle(file)
    except PickleFault as fault:
        raise broken(name, str(fault)) from fault


def _kind_of_pickle(facts: PickleFacts, name: str) -> Kind:
    if not facts.is_data:
        return "pickle"
    what = error(
        "MIG123",
        "the file holds tensors and no model",
        where=name,
        why="a state_dict has names and values, not the computation",
        todo="write a function that builds the module and loads this file, and give it as package.module:function",
    )
    raise MigrateError([what], Exit.INPUT)


def _other(name: str, why: str, todo: str) -> MigrateError:
    return MigrateError([error("MIG104", "not a format that is read", where=name, why=why, todo=todo)], Exit.INPUT)
