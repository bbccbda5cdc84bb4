"""Reads a `.pt2` of unknown origin: a copy is written that holds only what was checked, and torch opens the copy.

So torch's own reader never meets a name, a pickle or a compiled library of the original. Both layouts are known: that of
torch 2.8 and later, and the older one with `serialized_exported_program.json`.
"""

from __future__ import annotations

import io
import json
import logging
import shutil
import tempfile
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from migrate.errors import Exit, MigrateError, error
from migrate.frontends.archive import broken, open_archive, open_file, read_member, roots
from migrate.frontends.pytorch.files_pt2_checks import NotAllowed, check_entry, clean

if TYPE_CHECKING:
    from torch.export import ExportedProgram

OLD_PROGRAM = "serialized_exported_program.json"
_OLD_TENSORS = ("serialized_state_dict.pt", "serialized_constants.pt", "serialized_example_inputs.pt")
_VERSIONS = ("archive_format", "archive_version", "byteorder", ".data/version")
_ONLY = "model"
MAX_IMPLIED = 1 << 30  # bytes of tensors that the file describes and does not hold
MAX_DOCUMENT = 256 << 20  # bytes of JSON
_BYTES_OF_DTYPE = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 2, 7: 4, 8: 8, 9: 4, 10: 8, 11: 16, 12: 1, 13: 2}
"""By the number of `torch._export.serde.schema.ScalarType`; what is not named takes one byte or is refused by torch."""


def load_pt2(path: Path) -> ExportedProgram:
    """The exported program of a file; no code of the file runs.

    Raises:
        MigrateError: exit status 3; MIG101, MIG120, MIG121, MIG122.
    """
    with tempfile.TemporaryDirectory(prefix="migrate-pt2-") as folder:
        copy = Path(folder) / "model.pt2"
        write_checked_copy(path, copy)
        return _load(copy, path.name)


def write_checked_copy(path: Path, copy: Path) -> None:
    """Write what is needed of a `.pt2`, checked, as another one.

    Raises:
        MigrateError: as `load_pt2`.
    """
    with (
        open_file(path) as file,
        open_archive(file, path.name) as archive,
        zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as out,
    ):
        limit = MAX_IMPLIED + 4 * file.seek(0, 2)
        copier = _Copier(archive=archive, out=out, name=path.name, limit=limit)
        try:
            copier.old_layout() if OLD_PROGRAM in archive.namelist() else copier.new_layout()
        except NotAllowed as fault:
            raise refused(path.name, str(fault)) from fault
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as fault:
            raise refused(path.name, f"its description is malformed: {fault}") from fault


def refused(name: str, why: str) -> MigrateError:
    """MIG122, exit status 3."""
    what = error(
        "MIG122",
        "not an exported program that can be read safely",
        where=name,
        why=why,
        todo="export the module again with torch.export.save, or give a factory: package.module:function",
    )
    return MigrateError([what], Exit.INPUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copier:
    """From one archive to another, member by member. `limit` bounds the bytes of all tensors."""

    archive: zipfile.ZipFile
    out: zipfile.ZipFile
    name: str
    limit: int

    def old_layout(self) -> None:
        self._copy("version", "version")
        self._write(OLD_PROGRAM, self._document(OLD_PROGRAM))
        for member in _OLD_TENSORS:
            self._write(member, self._tensors(member))

    def new_layout(self) -> None:
        tops = roots(self.archive)
        if len(tops) != 1:
            raise broken(self.name, f"its members lie in {len(tops)} folders")
        top = tops.pop()
        model = self._model(f"{top}/models/")
        self._write(f"{_ONLY}/models/{_ONLY}.json", self._document(f"{top}/models/{model}.json"))
        for part in ("weights", "constants"):
            self._payload(f"{top}/data/{part}/", model, part)
        self._write(f"{_ONLY}/data/sample_inputs/{_ONLY}.pt", self._sample(f"{top}/data/sample_inputs/{model}.pt"))
        for member in _VERSIONS:
            if f"{top}/{member}" in self.archive.namelist():
                self._copy(f"{top}/{member}", f"{_ONLY}/{member}")

    def _model(self, folder: str) -> str:
        found = [
            m[len(folder) : -len(".json")]
            for m in self.archive.namelist()
            if m.startswith(folder) and m.endswith(".json")
        ]
        if not found:
            raise NotAllowed("it holds no exported program; compiled libraries and weights alone are not read")
        if len(found) > 1 and _ONLY not in found:
            raise NotAllowed(f"it holds several programs: {', '.join(sorted(found))}")
        return _ONLY if _ONLY in found else found[0]

    def _json(self, member: str) -> Any:
        if self.archive.NameToInfo[member].file_size > MAX_DOCUMENT:
            raise NotAllowed(f"{member} takes more than {MAX_DOCUMENT} bytes")
        return json.loads(read_member(self.archive, member, self.name))

    def _document(self, member: str) -> bytes:
        return json.dumps(clean(self._json(member))).encode()

    def _payload(self, folder: str, model: str, part: str) -> None:
        """The tensors of a folder with the JSON that describes them."""
        target = f"{_ONLY}/data/{part}/"
        if f"{folder}{model}.pt" in self.archive.namelist():
            self._write(f"{target}{_ONLY}.pt", self._tensors(f"{folder}{model}.pt"))
            return
        document = self._json(f"{folder}{model}_{part}_config.json")
        implied = 0
        for key, entry in document["config"].items():
            check_entry(key)
            if entry["use_pickle"] or not str(entry["path_name"]).startswith(("weight_", "tensor_")):
                raise NotAllowed(f"{key!r} is not a tensor but a pickle")
            implied += _implied_bytes(entry["tensor_meta"])
            entry["tensor_meta"]["device"] = {"type": "cpu", "index": None}
        if implied > self.limit:
            raise NotAllowed(f"it describes {implied} bytes of tensors, far more than it holds")
        for file in sorted({entry["path_name"] for entry in document["config"].values()}):
            self._copy(f"{folder}{file}", f"{target}{file}")
        self._write(f"{target}{_ONLY}_{part}_config.json", json.dumps(document).encode())

    def _tensors(self, member: str) -> bytes:
        """A nested file of `torch.save`, where it holds tensors only: torch then reads it so, too."""
        data = read_member(self.archive, member, self.name)
        if data and not _only_tensors(data, f"{self.name}, member {member!r}"):
            raise NotAllowed(f"{member!r} is a pickle that would run code")
        return data

    def _sample(self, member: str) -> bytes:
        """The example inputs, or none where they are more than tensors: a program does not need them."""
        if member not in self.archive.namelist():
            return b""
        data = read_member(self.archive, member, self.name)
        return data if data and _only_tensors(data, f"{self.name}, member {member!r}") else b""

    def _copy(self, member: str, target: str) -> None:
        try:
            with (
                self.archive.open(member) as source,
                self.out.open(zipfile.ZipInfo(target), "w", force_zip64=True) as sink,
            ):
                shutil.copyfileobj(source, sink, 1 << 20)
        except KeyError as fault:
            raise broken(self.name, f"it has no member {member!r}") from fault
        except (zipfile.BadZipFile, EOFError) as fault:
            raise broken(self.name, str(fault), member) from fault

    def _write(self, target: str, data: bytes) -> None:
        self.out.writestr(zipfile.ZipInfo(target), data)


def _implied_bytes(meta: dict[str, Any]) -> int:
    sizes = [size["as_int"] for size in meta["sizes"]]
    if not all(isinstance(size, int) and 0 <= size < 2**62 for size in sizes):
        raise NotAllowed("a tensor of its state has no fixed size")
    return prod(sizes) * _BYTES_OF_DTYPE.get(meta["dtype"], 1)


def _only_tensors(data: bytes, name: str) -> bool:
    import torch

    with open_archive(io.BytesIO(data), name):
        pass
    try:
        return isinstance(torch.load(io.BytesIO(data), weights_only=True, map_location="cpu"), dict | tuple)
    except Exception:  # the restricted unpickler raises many kinds
        return False


class _Reasons(logging.Handler):
    """Keeps the exceptions that torch logs and does not raise."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.exc_info, tuple) and record.exc_info[1] is not None:
            self.found.append(record.exc_info[1])


@contextmanager
def _torch_log() -> Generator[_Reasons]:
    """torch's exporter keeps its log to us."""
    logger, reasons = logging.getLogger("torch.export"), _Reasons()
    propagates = logger.propagate
    logger.propagate = False
    logger.addHandler(reasons)
    try:
        yield reasons
    finally:
        logger.propagate = propagates
        logger.removeHandler(reasons)


def _load(copy: Path, name: str) -> ExportedProgram:
    import torch

    with _torch_log() as log:
        try:
            program = torch.export.load(copy)
        except Exception as fault:  # the deserializer raises many kinds for what it does not know
            reason = log.found[0] if log.found else fault
            first = (str(reason).strip() or type(reason).__name__).splitlines()[0][:200]
            raise refused(name, first) from fault
    for node in program.graph.nodes:
        if node.op == "call_function" and not _is_operator(node.target):
            raise refused(name, f"it calls {node.target!r}, which is no operator")
    return program


def _is_operator(target: Any) -> bool:
    from torch._ops import HigherOrderOperator, OpOverload

    plain = getattr(target, "__module__", "") in ("_operator", "math", "torch")
    return isinstance(target, HigherOrderOperator | OpOverload) or plain
