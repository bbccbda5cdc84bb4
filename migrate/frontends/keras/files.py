"""Opens `.keras` archives and HDF5 files of unknown origin; nothing in them is executed and nothing leads out of them.

Knows the containers: which members there are, and that every dataset is stored plainly. Must not know a layer.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from migrate.errors import Exit, MigrateError, error
from migrate.frontends.archive import open_archive, open_file, read_member

MAX_JSON = 64 << 20
MAX_RATIO = 200  # of a dataset's size to what the file stores for it
MAX_OBJECTS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KerasFile:
    """A file that has been checked: its configurations as they are written, and the open HDF5 file of its weights."""

    name: str
    path: Path
    model: dict[str, Any]
    compiled: dict[str, Any] | None
    store: Any
    is_archive: bool
    version: str


def is_keras_archive(path: Path) -> bool:
    """Whether a zip archive has Keras's members; one that cannot be opened has not."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return {"config.json", "metadata.json"} <= set(archive.namelist())
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def read_keras(path: Path) -> KerasFile:
    """Open and check a file.

    Raises:
        MigrateError: exit status 2, MIG143: h5py is missing; exit status 3, MIG101, MIG120, MIG121 (the archive),
            MIG141: damaged, MIG142: it holds weights alone.
    """
    with open_file(path) as file:
        head = file.read(8)
    return _read_h5(path) if head == b"\x89HDF\r\n\x1a\n" else _read_archive(path)


def _read_archive(path: Path) -> KerasFile:
    with open_file(path) as file:
        archive = open_archive(file, path.name)
        names = set(archive.namelist())
        for member in ("config.json", "model.weights.h5"):
            if member not in names:
                raise damaged(path.name, f"it has no member {member!r}")
        document = _json(read_member(archive, "config.json", path.name), path.name)
        metadata = (
            _json(read_member(archive, "metadata.json", path.name), path.name) if "metadata.json" in names else {}
        )
        weights = read_member(archive, "model.weights.h5", path.name)
    store = open_store(io.BytesIO(weights), path.name)
    return KerasFile(
        name=path.name, path=path, model=document, compiled=document.get("compile_config"), store=store, is_archive=True,
        version=str(metadata.get("keras_version", "")),
    )  # fmt: skip


def _read_h5(path: Path) -> KerasFile:
    store = open_store(path, path.name)
    text = store.attrs.get("model_config")
    if text is None:
        todo = "save the whole model: model.save('model.keras')"
        raise MigrateError(
            [error("MIG142", "the file holds weights and no model", where=path.name, todo=todo)], Exit.INPUT
        )
    if "model_weights" not in store:
        raise damaged(path.name, "it has no group 'model_weights'")
    training = store.attrs.get("training_config")
    compiled = _json(training, path.name) if training is not None else None
    if compiled and "optimizer_config" in compiled:
        compiled["optimizer"] = compiled["optimizer_config"]
    return KerasFile(
        name=path.name, path=path, model=_json(text, path.name), compiled=compiled, store=store, is_archive=False,
        version=str(store.attrs.get("keras_version", "")),
    )  # fmt: skip


def open_store(source: Any, name: str) -> Any:
    """An HDF5 file, every object of which lies in it.

    Raises:
        MigrateError: exit status 2, MIG143; exit status 3, MIG141.
    """
    try:
        import h5py
    except ImportError as fault:
        todo = "install h5py, which the extra [keras] has"
        raise MigrateError(
            [error("MIG143", "Keras files are read with h5py", where=name, todo=todo)], Exit.USAGE
        ) from fault
    try:
        store: Any = h5py.File(source, "r")
        _check(store, store, name, [0])
    except MigrateError:
        raise
    except Exception as fault:  # a damaged file raises whatever HDF5 was doing
        raise damaged(name, f"{type(fault).__name__}: {fault}") from fault
    return store


def _check(root: Any, group: Any, name: str, count: list[int]) -> None:
    import h5py

    for key in group:
        count[0] += 1
        if count[0] > MAX_OBJECTS or group.name.count("/") > 64:
            raise damaged(name, "its groups are too many or too deep")
        if not isinstance(group.get(key, getlink=True), h5py.HardLink):
            raise damaged(name, f"{group.name}/{key} leads elsewhere")
        item = group[key]
        if isinstance(item, h5py.Dataset):
            _check_dataset(item, name)
        else:
            _check(root, item, name, count)


def _check_dataset(item: Any, name: str) -> None:
    if item.external or item.is_virtual:
        raise damaged(name, f"{item.name} is stored in another file")
    if item.dtype.kind not in "fiub" and item.nbytes > MAX_JSON:
        raise damaged(name, f"{item.name} holds no numbers")
    if item.nbytes > MAX_RATIO * max(item.id.get_storage_size(), 64):
        raise damaged(name, f"{item.name} claims {item.nbytes} bytes of {item.id.get_storage_size()}")


def _json(text: Any, name: str) -> dict[str, Any]:
    try:
        if len(text) > MAX_JSON:
            raise ValueError("the configuration is too long")
        document = json.loads(text)
    except (ValueError, TypeError, RecursionError) as fault:
        raise damaged(name, f"the configuration is no JSON: {fault}") from fault
    if not isinstance(document, dict):
        raise damaged(name, "the configuration is no object")
    return document  # pyright: ignore[reportUnknownVariableType]


def damaged(name: str, why: str) -> MigrateError:
    """MIG141, exit status 3."""
    todo = "save the model again: model.save('model.keras')"
    return MigrateError(
        [error("MIG141", "the Keras file is damaged or unsafe", where=name, why=why, todo=todo)], Exit.INPUT
    )
