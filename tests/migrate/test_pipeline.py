"""The flow as Python calls it: what each option does to the package, and what is never done."""

from __future__ import annotations

import dataclasses
import importlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

import migrate
from migrate.errors import Exit, MigrateError, error
from migrate.pipeline import Options
from tests.migrate.commands import environment, package, tree
from tests.onnx_files import SMALL, build, conv_net, mlp, node, positive, save, two_heads, weight

QUICK = Options(verify=False)
TARGETS = ("cpu", "vendor_a", "vendor_b")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package that was not verified."""
    root = tmp_path_factory.mktemp("plain")
    migrate.convert(save(mlp(), root / "small.onnx"), "cpu", root / "package", QUICK)
    return root / "package"


def weights_of(folder: Path, name: str) -> dict[str, Any]:
    return {t["source"]: t for t in json.loads((folder / name / "weights.json").read_text())["tensors"]}


# ---- the Python API


@pytest.mark.parametrize("in_memory", [True, False], ids=["ModelProto", "path"])
def test_load_and_to_module(in_memory: bool, tmp_path: Path) -> None:
    source: Any = mlp() if in_memory else save(mlp(), tmp_path / "m.onnx")
    graph, module = migrate.load(source), migrate.to_module(source)
    assert [value.name for value in graph.inputs] == ["x"]
    assert module(torch.zeros(3, 8)).shape == (3, 3)
    module(torch.ones(3, 8)).sum().backward()
    assert all(p.grad is not None for p in module.parameters())


def test_check_and_convert_take_a_model_in_memory(tmp_path: Path) -> None:
    audit = migrate.check(two_heads(), "vendor_a")
    assert audit.trains and not audit.degraded
    report = migrate.convert(mlp(), "cpu", tmp_path / "out", dataclasses.replace(QUICK, name="named"))
    assert (report.verdict.outcome, report.package) == ("unverified", "named")
    assert any("--no-verify" in row.why for row in report.unverified)


def test_errors_carry_the_status_of_the_command_line() -> None:
    with pytest.raises(migrate.MigrateError) as caught:
        migrate.load("nothing.onnx")
    assert caught.value.status == 3 and caught.value.diagnostics[0].code == "MIG101"


# ---- what is written


def test_converting_twice_gives_equal_bytes(plain: Path, tmp_path: Path) -> None:
    migrate.convert(save(mlp(), tmp_path / "elsewhere" / "small.onnx"), "cpu", tmp_path / "again", QUICK)
    assert tree(tmp_path / "again") == tree(plain)


def test_no_path_of_the_machine_is_written(plain: Path) -> None:
    for name, content in tree(plain).items():
        assert str(plain.parent).encode() not in content, name


def test_overwriting_keeps_what_is_the_users(plain: Path, tmp_path: Path) -> None:
    out, source = tmp_path / "out", save(mlp(), tmp_path / "small.onnx")
    migrate.convert(source, "cpu", out, QUICK)
    (out / "local" / "data.py").write_text("mine = True\n")
    (out / "small" / "model.py").write_text("broken(")
    (out / "stale.txt").write_text("stale")
    with pytest.raises(MigrateError, match="MIG107"):
        migrate.convert(source, "cpu", out, QUICK)
    assert (out / "stale.txt").exists()
    migrate.convert(source, "cpu", out, dataclasses.replace(QUICK, overwrite=True))
    assert tree(out) == tree(plain) | {"local/data.py": b"mine = True\n"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "small.onnx"]


def test_a_failure_on_the_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise MigrateError([error("MIG404", "planted")], Exit.UNSUPPORTED)

    monkeypatch.setattr("migrate.opmap.audit_package", failing)
    with pytest.raises(MigrateError, match="planted"):
        migrate.convert(mlp(), "cpu", tmp_path / "deep" / "er" / "out", QUICK)
    assert list(tmp_path.iterdir()) == []


def test_options_reach_the_package(tmp_path: Path) -> None:
    options = dataclasses.replace(
        QUICK, precision="bf16", optimizer="sgd", loss="mse", freeze=("W1", "b*"), trainable=("b1",), name="tuned"
    )
    report = migrate.convert(mlp(), "vendor_b", tmp_path / "out", options)
    settings = tomllib.loads((tmp_path / "out" / "tuned" / "train.toml").read_text())
    assert (settings["precision"]["mode"], settings["optimizer"]["name"]) == ("bf16", "sgd")
    trained = {name: tensor["trainable"] for name, tensor in weights_of(tmp_path / "out", "tuned").items()}
    assert trained == {"W1": False, "b1": True, "W2": True}
    assert "mse" in (tmp_path / "out" / "tuned" / "loss.py").read_text()
    assert report.target.precision == "bf16"
    done = package(tmp_path / "out", "tuned", "train", "--steps", 3, "--device", "cpu", "--json")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3


def test_running_statistics_can_be_trained_only_when_asked() -> None:
    statistics = {t.name: t for t in conv_net().graph.initializer if "running" in t.name}
    assert len(statistics) == 2
    roles = {v.weight.source: v.weight.role for v in migrate.load(conv_net()).weights() if v.weight}
    assert {roles[name] for name in statistics} == {"buffer"}


# ---- names from a model

HOSTILE = (
    'x"); import os #', "../../x", "/etc/passwd", "..\\x", "na\u00efve \u4e2d\u6587 \U0001f600", "a" * 5000, "class", "def",
    "import", "self", "None", "__import__('os')", "'''", '"""', "\\", "{{7*7}}", "{% raw %}", "x\ny", "\x00z", "", " ",
    "\u202eabc", "torch", "nn", "forward", "0", "1abc", "a.b.c", "/a/../b/c", "$(rm -rf)", "weight", "T", "print", "True",
    "<script>alert(1)</script>", "load_model", "training", "train", "state_dict", "_parameters", "__class__", "x\u2028y",
)  # fmt: skip


def hostile(name: str) -> onnx.ModelProto:
    """The name everywhere a model may have one."""
    nodes = [
        node("MatMul", [f"{name}x", f"W{name}"], [f"{name}h"], name),
        node("Relu", [f"{name}h"], [f"{name}r"], f"/{name}/{name}/Relu"),
        node("Gemm", [f"{name}r", f"V{name}", f"b{name}"], [f"{name}y"], f"{name}/{name}"),
    ]
    nodes[0].metadata_props.add(key="pkg.torch.onnx.name_scopes", value=repr(["", name, f"{name}.{name}", "relu"]))
    weights = {f"W{name}": weight(8, 6), f"V{name}": weight(6, 3), f"b{name}": weight(3)}
    model = build(nodes, weights, inputs=(f"{name}x", (f"N{name}", 8)), outputs=(f"{name}y",), name=name)
    model.producer_name = model.producer_version = model.doc_string = name
    model.graph.node[1].doc_string = model.graph.doc_string = name
    return model


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name)[:30])
def test_a_hostile_name_never_becomes_code(name: str) -> None:
    model = hostile(name)
    module = migrate.to_module(model).eval()
    x = np.random.default_rng(0).standard_normal((2, 8), dtype=np.float32)
    want = np.maximum(x @ weight(8, 6), 0) @ weight(6, 3) + weight(3)
    np.testing.assert_allclose(module(torch.from_numpy(x)).detach().numpy(), want, atol=1e-5)


def test_a_hostile_model_on_disk(tmp_path: Path) -> None:
    """Files have our names only; the package imports; nothing outside it is touched."""
    name = 'x"); open("../../planted", "w") #\u4e2d\x1b[31m\n../../x'
    work = tmp_path / "a" / "b"
    source = save(hostile(name), work / 'evil"); import os #.onnx')
    report = migrate.convert(source, "cpu", work / "out", QUICK)
    assert report.package is not None and report.package.isidentifier()
    names = [part for path in (work / "out").rglob("*") for part in path.relative_to(work / "out").parts]
    assert all(part.isascii() and part.replace("_", "").replace(".", "").replace("-", "").isalnum() for part in names)
    code = f"import {report.package} as p, torch; print(tuple(p.load_model()(torch.zeros(2, 8)).shape))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=work / "out", env=environment(), capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "(2, 3)", done.stderr
    assert sorted(p.name for p in tmp_path.rglob("*") if p.parent in (tmp_path, tmp_path / "a", work)) == [
        "a", "b", source.name, "out",
    ]  # fmt: skip
    for text in ("MIGRATION.md", "README.md", "report/report.html"):
        assert "\x1b" not in (work / "out" / text).read_text()


# ---- verification decides


@pytest.mark.slow
def test_a_package_that_differs_is_kept_and_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from migrate.frontends.onnx import OnnxOracle

    run = OnnxOracle.run
    monkeypatch.setattr(OnnxOracle, "run", lambda self, *a, **k: [output * 1.01 for output in run(self, *a, **k)])
    report = migrate.convert(save(mlp(), tmp_path / "small.onnx"), "cpu", tmp_path / "out")
    assert (report.verdict.outcome, report.verdict.exit_status) == ("parity_failed", Exit.PARITY)
    assert (tmp_path / "out" / "UNVERIFIED").exists()


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SMALL)
def test_small_models_on_every_target(name: str, target: str, tmp_path: Path) -> None:
    report = migrate.convert(save(SMALL[name](), tmp_path / f"{name}.onnx"), target, tmp_path / "out")
    assert (report.verdict.outcome, report.verdict.exit_status) == ("verified", 0), report.verdict.reason
    for command in (
        ["train", "--steps", 10, "--batch-size", 4, "--json"],
        ["verify"],
        ["export", tmp_path / "back.onnx"],
    ):
        done = package(tmp_path / "out", name, *command)
        assert done.returncode == 0, done.stderr
        if command[0] == "train":
            losses = [json.loads(line)["loss"] for line in done.stdout.splitlines()]
            assert losses[-1] < losses[0]


@pytest.mark.parametrize(("name", "target"), [("gpt", "cpu"), ("tagger", "vendor_b")])
def test_a_small_model_is_verified(name: str, target: str, tmp_path: Path) -> None:
    """The full table is slow; `conv_net` is converted to vendor_a for `test_cli.py`."""
    report = migrate.convert(save(SMALL[name](), tmp_path / f"{name}.onnx"), target, tmp_path / "out")
    assert (report.verdict.outcome, report.verdict.exit_status) == ("verified", 0), report.verdict.reason


def test_the_package_needs_nothing_of_the_tool(plain: Path) -> None:
    code = (
        "import sys\nsys.modules['migrate'] = sys.modules['onnx'] = None\nimport small, torch\n"
        "print(small.load_model()(torch.zeros(2, 8)).shape[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=plain, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "2", done.stderr


def test_the_door_has_these_names() -> None:
    assert set(migrate.__all__) == {"Diagnostic", "MigrateError", "check", "convert", "load", "to_module"}
    assert all(hasattr(importlib.import_module("migrate"), name) for name in migrate.__all__)
    with pytest.raises(AttributeError):
        _ = migrate.nothing  # type: ignore[attr-defined]


def test_a_batch_norm_model_survives_its_report(plain: Path) -> None:
    """Statistics are buffers in the inventory, and what was separated is told."""
    weights = {"C": weight(4, 3, 3, 3), "s": positive(4), "b": weight(4)}
    nodes = [node("Conv", ["x", "C"], ["c"]), node("BatchNormalization", ["c", "s", "b", "b", "s"], ["y"])]
    (report,) = migrate.pipeline.compare(build(nodes, weights, inputs=("x", ("N", 3, 8, 8))), ["cpu"])
    roles = {w.name.rpartition(".")[2]: w.role for w in report.inventory.weights}
    assert (roles["running_mean"], roles["running_var"]) == ("buffer", "buffer")
    assert {change.code for change in report.changes} == {"MIG311"}
