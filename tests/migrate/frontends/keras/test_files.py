"""Damaged and hostile files: refused with status 3, and nothing read beyond what is checked."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from migrate.errors import Exit, MigrateError
from migrate.frontends.keras import read_keras

Fill = Callable[[Any], None]


def weights(fill: Fill = lambda store: None) -> bytes:
    """An HDF5 file."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as store:
        fill(store)
    return buffer.getvalue()


def archive(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


def whole(**changed: bytes) -> dict[str, bytes]:
    return {"metadata.json": b"{}", "config.json": b"{}", "model.weights.h5": weights()} | changed


def elsewhere(store: Any) -> None:
    store["layers/dense"] = h5py.ExternalLink("/etc/hostname", "/")


def soft(store: Any) -> None:
    store["a"] = h5py.SoftLink("/b")


def external(store: Any) -> None:
    store.create_dataset("a", (4,), "f4", external=[("/etc/hostname", 0, 16)])


def virtual(store: Any) -> None:
    layout = h5py.VirtualLayout((4,), "f4")
    layout[:] = h5py.VirtualSource("/etc/hostname", "x", (4,))
    store.create_virtual_dataset("a", layout)


def unwritten(store: Any) -> None:
    store.create_dataset("a", (1 << 40,), "f4", chunks=(1024,))


def bomb(store: Any) -> None:
    store.create_dataset("a", data=np.zeros(1 << 22, "f4"), compression="gzip")


@pytest.mark.parametrize("fill", [elsewhere, soft, external, virtual, unwritten, bomb])
def test_weights_that_lie_elsewhere_or_claim_too_much(fill: Fill, tmp_path: Path) -> None:
    assert code_of(archive(tmp_path / "m.keras", whole(**{"model.weights.h5": weights(fill)}))) == "MIG141"
    (tmp_path / "m.h5").write_bytes(weights(fill))
    assert code_of(tmp_path / "m.h5") == "MIG141"


@pytest.mark.parametrize(
    ("members", "code"),
    [
        (whole(**{"../evil": b""}), "MIG121"),
        (whole(**{"/evil": b""}), "MIG121"),
        ({"metadata.json": b"{}", "config.json": b"{}"}, "MIG141"),
        (whole(**{"config.json": b"not json"}), "MIG141"),
        (whole(**{"config.json": b"[" * 100_000}), "MIG141"),
        (whole(**{"config.json": b"[]"}), "MIG141"),
        (whole(**{"model.weights.h5": b"\x89HDF\r\n\x1a\nbroken"}), "MIG141"),
    ],
    ids=["parent", "absolute", "no weights", "no json", "deep json", "list", "broken h5"],
)
def test_archives(members: dict[str, bytes], code: str, tmp_path: Path) -> None:
    assert code_of(archive(tmp_path / "m.keras", members)) == code


def test_a_zip_bomb(tmp_path: Path) -> None:
    members = whole(**{"config.json": b" " * (32 << 20)})
    assert code_of(archive(tmp_path / "m.keras", members, zipfile.ZIP_DEFLATED)) == "MIG121"


def test_weights_alone(tmp_path: Path) -> None:
    (tmp_path / "m.h5").write_bytes(weights(lambda store: store.create_dataset("kernel", data=np.ones(3))))
    assert code_of(tmp_path / "m.h5") == "MIG142"


def test_every_prefix_of_a_file_is_refused(tmp_path: Path) -> None:
    content = weights(lambda store: store.attrs.update({"model_config": json.dumps({})}))
    for length in range(8, len(content), 97):
        (tmp_path / "m.h5").write_bytes(content[:length])
        assert code_of(tmp_path / "m.h5") == "MIG141"


def code_of(path: Path) -> str:
    with pytest.raises(MigrateError) as caught:
        read_keras(path)
    assert caught.value.status == Exit.INPUT
    return caught.value.diagnostics[0].code
