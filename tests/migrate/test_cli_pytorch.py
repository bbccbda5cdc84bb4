"""PyTorch sources on the command line: from a user's own folder, and files that would run code."""

from __future__ import annotations

import io
import json
import pickle
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from migrate.cli import parse_input
from migrate.errors import Exit, MigrateError
from tests.migrate.commands import migrate
from tests.migrate.frontends.pytorch.archives import program_bytes, program_with, saved, text_exchanged
from tests.migrate.frontends.pytorch.users import write_project


class Payload:
    """Unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.write_text, (self.path, "executed")


def bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", bytes(64 << 20))
    return file.getvalue()


def traversal() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x02}.")
        archive.writestr("a/../../../mark", b"executed")
    return file.getvalue()


HOSTILE: dict[str, tuple[str, Callable[[Path], bytes], str]] = {
    "pickle": ("model.pt", lambda mark: saved(Payload(mark)), "MIG124"),
    "older pickle": ("model.pt", lambda mark: saved({"a": Payload(mark)}, zipped=False), "MIG124"),
    "plain pickle": ("model.pt2", lambda mark: pickle.dumps(Payload(mark)), "MIG124"),
    "plain pickle of old": ("model.pth", lambda mark: pickle.dumps(Payload(mark), protocol=0), "MIG104"),
    "bomb": ("model.pt", lambda mark: bomb(), "MIG121"),
    "traversal": ("model.pt", lambda mark: traversal(), "MIG121"),
    "cut off": ("model.pt2", lambda mark: program_bytes()[:-100], "MIG120"),
    "state_dict": ("model.pt", lambda mark: saved(nn.Linear(2, 2).state_dict()), "MIG123"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files(case: str, tmp_path: Path, invoke: Any) -> None:
    name, content, code = HOSTILE[case]
    mark, path = tmp_path / "mark", tmp_path / name
    path.write_bytes(content(mark))
    start = time.monotonic()
    status, out, err = invoke("convert", path, "--target", "cpu", "-o", tmp_path / "out")
    assert (status, out) == (Exit.INPUT, "") and code in err and "Traceback" not in err
    assert not mark.exists() and not (tmp_path / "out").exists() and time.monotonic() - start < 10


def test_a_hostile_program(tmp_path: Path, invoke: Any) -> None:
    mark = tmp_path / "mark"
    payload = f"__import__('pathlib').Path('{mark}').write_text('executed')"
    change = text_exchanged("Symbol('s77', positive=True, integer=True)", payload)
    path = program_with(tmp_path / "model.pt2", {"models/model.json": change})
    status, out, err = invoke("inspect", path)
    assert (status, out) == (Exit.INPUT, "") and "MIG122" in err and not mark.exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x:2,3,64,64", ("x", (2, 3, 64, 64), "")),
        ("tokens:2,16:int64", ("tokens", (2, 16), "int64")),
        ("serving_default_x:0:1,4", ("serving_default_x:0", (1, 4), "")),
        ("scale:1:bfloat16", ("scale", (1,), "bfloat16")),
        ("x:2,3,H,W=64", ("x", (2, 3, "H", "W=64"), "")),
        ("tokens:N,T:int64", ("tokens", ("N", "T"), "int64")),
    ],
)
def test_input_options(text: str, expected: Any) -> None:
    assert parse_input(text) == expected


@pytest.mark.parametrize("text", ["x", "x:", ":2,3", "x:2,,3", "x:2,0", "x:2:", "x:2,T=", "x:2,-1", "x:2:3.5"])
def test_input_options_that_cannot_be_read(text: str) -> None:
    with pytest.raises(MigrateError, match="MIG105") as caught:
        parse_input(text)
    assert caught.value.status == Exit.USAGE


def test_a_factory_from_the_users_folder(tmp_path: Path) -> None:
    folder = write_project(tmp_path)
    done = migrate("inspect", "mine:full", "--json", "--seed", "3", cwd=folder)
    assert done.returncode == Exit.OK, done.stderr
    document = json.loads(done.stdout)
    assert document["source"] == "mine:full" and document["format"] == "PyTorch"
    assert "imported" in done.stderr, "what the user's code prints is no result"
    wrong = migrate("inspect", "mine:raises", cwd=folder)
    assert wrong.returncode == Exit.INPUT and wrong.stdout == ""
    assert "MIG126" in wrong.stderr and "mine.py:" in wrong.stderr and "Traceback" not in wrong.stderr


def test_an_exported_program(tmp_path: Path, invoke: Any) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(program_bytes())
    status, out, err = invoke("inspect", path)
    assert status == Exit.OK, err
    assert "'linear.weight'" in out
    status, _, err = invoke("inspect", path, "--input", "x:2,4")
    assert status == Exit.USAGE and "MIG130" in err


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_script_needs_trust(tmp_path: Path, invoke: Any) -> None:
    path = tmp_path / "model.pt"
    torch.jit.save(torch.jit.script(nn.Sequential(nn.Linear(4, 2))), path)
    status, _, err = invoke("inspect", path, "--input", "input:2,4")
    assert status == Exit.INPUT and "MIG124" in err
    status, out, err = invoke("inspect", path, "--input", "input:2,4", "--trust-pickle")
    assert status == Exit.OK and "'0.weight'" in out, err
