"""The kind of a PyTorch file follows from its content; what is no model or not trusted is refused."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from migrate.errors import Exit, MigrateError
from migrate.frontends.pytorch.files import kind_of, require_trust
from tests.migrate.frontends.pytorch.archives import program_bytes, saved


def script() -> bytes:
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU())), file)
    return file.getvalue()


def old_program() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("version", "8.14")
        archive.writestr("serialized_exported_program.json", "{}")
    return file.getvalue()


def keras() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("metadata.json", "config.json", "model.weights.h5"):
            archive.writestr(name, "{}")
    return file.getvalue()


def arrays() -> bytes:
    file = io.BytesIO()
    np.savez(file, x=np.zeros(2))
    return file.getvalue()


def other() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("readme.txt", "hello")
    return file.getvalue()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_kinds(tmp_path: Path) -> None:
    kinds = {
        "pt2": program_bytes(),
        "older pt2": old_program(),
        "torchscript": script(),
        "pickle": saved(nn.Linear(2, 2)),
        "older pickle": saved(nn.Linear(2, 2), zipped=False),
    }
    for kind, content in kinds.items():
        path = tmp_path / "model.bin"
        path.write_bytes(content)
        assert kind_of(path) == kind.split()[-1]


@pytest.mark.parametrize("content", [b"", b"\x08\x07onnx", b"hello", b"\x89HDF\r\n\x1a\n", b"\x80"])
def test_other_content_is_left_to_others(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(content)
    assert kind_of(tmp_path / "model.pt") is None


@pytest.mark.parametrize(
    ("content", "code", "what"),
    [
        (saved(nn.Linear(2, 2).state_dict()), "MIG123", "package.module:function"),
        (saved(nn.Linear(2, 2).state_dict(), zipped=False), "MIG123", "package.module:function"),
        (saved({"model": nn.Linear(2, 2).state_dict(), "epoch": 2}), "MIG123", "no model"),
        (arrays(), "MIG104", "NumPy"),
        (keras(), "MIG104", "Keras"),
        (other(), "MIG104", "not written"),
        (saved(nn.Linear(2, 2))[:-40], "MIG120", "cut off"),
        (b"\x80\x02cposix\nsys", "MIG120", "cut off"),
    ],
    ids=["state_dict", "older state_dict", "checkpoint", "npz", "keras", "zip", "truncated", "truncated pickle"],
)
def test_refused_by_name(content: bytes, code: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    path.write_bytes(content)
    with pytest.raises(MigrateError, match=what) as caught:
        kind_of(path)
    assert (caught.value.diagnostics[0].code, caught.value.status) == (code, Exit.INPUT)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("case", ["pickle", "older pickle", "torchscript"])
def test_programs_need_trust(case: str, tmp_path: Path) -> None:
    module = nn.Sequential(nn.Linear(2, 2))
    content = script() if case == "torchscript" else saved(module, zipped=case == "pickle")
    path = tmp_path / "model.pt"
    path.write_bytes(content)
    with pytest.raises(MigrateError, match="--trust-pickle") as caught:
        require_trust(path, trusted=False)
    found = caught.value.diagnostics[0]
    assert (found.code, caught.value.status) == ("MIG124", Exit.INPUT)
    assert case == "torchscript" or "torch.nn.modules.container.Sequential" in found.why
    require_trust(path, trusted=True)
