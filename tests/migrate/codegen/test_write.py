"""The package on disk: complete, the same bytes twice, atomic, and runnable by itself."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from migrate.codegen import Settings, Source, to_module, weights_file, write_package
from migrate.codegen.weights_file import write_weights

TARGET = {"schema": 1, "name": "cpu", "kind": "product", "device": {"type": "cpu"}}


def plan_of(net: Any) -> Any:
    ids = net.batch(6, dtype="int64", name="ids")
    table = net.tensor_of(9, 4, name="embed.weight")
    with net.at(("embed",), "/embed"):
        x = net.embedding(ids, table)
    x = net.add(x, net.tensor_of(4, name="offset", role="buffer"))
    with net.at(("head",), "/head"):
        x = net.linear(x, table)
    source = Source(name="net.onnx", sha256="ab" * 32, framework="ONNX", tool_version="0.1.0")
    settings = Settings(train={"optimizer": {"name": "sgd"}})
    return net.plan(net.softmax(x, -1), source=source, settings=settings)


def tree(folder: Path) -> dict[str, str]:
    files = (p for p in sorted(folder.rglob("*")) if p.is_file())
    return {p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_converting_twice_gives_equal_bytes(net: Any, tmp_path: Path) -> None:
    plan = plan_of(net)
    first = tree(write_package(plan, tmp_path / "a", target=TARGET))
    second = tree(write_package(plan, tmp_path / "b", target=TARGET, extra={"MIGRATION.md": "x"}))
    assert second.pop("MIGRATION.md") == hashlib.sha256(b"x").hexdigest()
    assert first == second
    wanted = {
        "pyproject.toml", "README.md", "local/README.md", "checks/test_parity.py", "net/__init__.py", "net/__main__.py",
        "net/config.py", "net/model.py", "net/loss.py", "net/data.py", "net/train.toml", "net/target.json",
        "net/weights.safetensors", "net/weights.json", "net/runtime/__init__.py", "net/runtime/manifest.json",
    }  # fmt: skip
    assert wanted <= set(first)
    assert not any(str(tmp_path) in (tmp_path / "a" / p).read_text(errors="replace") for p in first)


def test_the_manifest_is_true(net: Any, tmp_path: Path) -> None:
    runtime = write_package(plan_of(net), tmp_path / "a", target=TARGET) / "net" / "runtime"
    files = json.loads((runtime / "manifest.json").read_text())["files"]
    assert files == {k: v for k, v in tree(runtime).items() if k != "manifest.json"}
    assert not any("__pycache__" in path for path in files)


def test_weights_are_stored_once_with_their_origin(net: Any, tmp_path: Path) -> None:
    folder = write_package(plan_of(net), tmp_path / "a", target=TARGET) / "net"
    stored = load_file(folder / "weights.safetensors")
    assert set(stored) == {"embed.weight", "offset"}
    entries = {e["target"]: e for e in json.loads((folder / "weights.json").read_text())["tensors"]}
    assert entries["head.weight"]["tied_to"] == "embed.weight" and entries["offset"]["role"] == "buffer"
    assert entries["embed.weight"]["source"] == "embed.weight"


def test_large_weights_are_sharded(net: Any, tmp_path: Path) -> None:
    plan = plan_of(net)
    write_weights(plan, tmp_path, limit=100)
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["weights-00001-of-00002.safetensors", "weights-00002-of-00002.safetensors"]
    stored = {k: v for name in names for k, v in load_file(tmp_path / name).items()}
    for tensor in plan.tensors:
        if tensor.tied_to is None:
            np.testing.assert_array_equal(stored[tensor.key], tensor.weight.array())


def test_weights_are_written_in_parts(net: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(net)
    for part, name in ((weights_file._PART_BYTES, "whole"), (40, "parts")):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(weights_file, "_PART_BYTES", part)
        write_weights(plan, tmp_path / name)
    stored = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("whole", "parts")]
    assert stored[0] == stored[1]


def test_the_package_runs_by_itself(net: Any, tmp_path: Path) -> None:
    plan = plan_of(net)
    folder = write_package(plan, tmp_path / "a", target=TARGET)
    ids = torch.arange(12).reshape(2, 6) % 9
    code = (
        "import json, torch, net, net.__main__ as m\n"
        "ids = torch.arange(12).reshape(2, 6) % 9\n"
        "model = net.load_model()\n"
        "fresh = net.load_model(pretrained=False)\n"
        "targets = (torch.zeros(2, 6, dtype=torch.int64),)\n"
        "loss = m.PACKAGE.compute_loss(model.train(), (ids,), targets)\n"
        "loss.backward()\n"
        "print(json.dumps([model.eval()(ids).tolist(), loss.item(), model.head.weight is model.embed.weight,\n"
        "  torch.equal(fresh.offset, model.offset), torch.equal(fresh.embed.weight, model.embed.weight),\n"
        "  [s.name for s in m.PACKAGE.inputs], 'migrate' in __import__('sys').modules]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    outputs, loss, tied, offset, drawn, names, tool = json.loads(done.stdout)
    module: Any = to_module(plan)
    assert torch.equal(torch.tensor(outputs), module(ids))
    expected = torch.nn.functional.cross_entropy(module.logits(ids).flatten(0, 1), torch.zeros(12, dtype=torch.int64))
    assert abs(loss - expected.item()) < 1e-6
    assert tied and offset and not drawn and names == ["ids"] and not tool


def test_an_existing_folder_is_refused(net: Any, tmp_path: Path) -> None:
    plan = plan_of(net)
    folder = write_package(plan, tmp_path / "a", target=TARGET)
    before = tree(folder)
    with pytest.raises(FileExistsError):
        write_package(plan, folder, target=TARGET)
    assert tree(folder) == before


@pytest.mark.slow
def test_the_package_passes_pyright_basic(net: Any, tmp_path: Path) -> None:
    folder = write_package(plan_of(net), tmp_path / "a", target=TARGET)
    config = {"typeCheckingMode": "basic", "include": ["net"], "exclude": ["net/runtime"]}
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
