"""The command line: exit statuses, what goes to which stream, and what is left on disk."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnxruntime
import pytest

from reports import SCHEMA_PATH
from tests.migrate.commands import COMMAND, migrate, package, tree
from tests.onnx_files import build, conv_net, mlp, node, save, weight

VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA_PATH.read_text()))


def unsupported() -> Any:
    nodes = [
        node("MatMul", ["x", "W"], ["h"]),
        node("Mystery", ["h"], ["a"], name="first"),
        node("Fancy", ["a"], ["y"], name="second", domain="com.vendor"),
    ]
    return build(nodes, {"W": weight(8, 6)}, extra_opsets=["com.vendor"])


# ---- a whole run


def test_convert_is_verified_and_reports_by_the_schema(flow: Any) -> None:
    assert flow.done.returncode == 0, flow.done.stderr
    report = json.loads(flow.done.stdout)
    VALIDATOR.validate(report)
    assert (report["verdict"]["outcome"], report["verdict"]["exit_status"]) == ("verified", 0)
    assert report["parity"] and all(row["passed"] for row in report["parity"] if row["decides"])
    batches = {int(n) for row in report["parity"] for n in re.findall(r"^batch(\d+)$", row["case"] or "")}
    assert batches == {2, 3, 5}
    stored = json.loads((flow.folder / "report" / "report.json").read_text())
    assert stored == report
    assert [path.name for path in flow.folder.parent.iterdir() if path.name.startswith(".")] == []


def test_progress_goes_to_stderr(flow: Any) -> None:
    assert [line.split()[0] for line in flow.done.stderr.splitlines()] == [
        "reading", "planning", "writing", "auditing", "verifying",
    ]  # fmt: skip


def test_the_package_trains(flow: Any) -> None:
    done = package(
        flow.folder, "net", "train", "--steps", 10, "--batch-size", 4, "--json", "--set", "optimizer.lr=0.01"
    )
    assert done.returncode == 0, done.stderr
    losses = [json.loads(line)["loss"] for line in done.stdout.splitlines()]
    assert len(losses) == 10 and losses[-1] < losses[0]


def test_the_package_verifies_itself(flow: Any) -> None:
    done = migrate("verify", flow.folder, "--json", cwd=flow.folder.parent)
    assert done.returncode == 0, done.stderr
    assert all(check["passed"] for check in json.loads(done.stdout)["checks"])


def test_the_package_exports(flow: Any, tmp_path: Path) -> None:
    done = package(flow.folder, "net", "export", tmp_path / "back.onnx")
    assert done.returncode == 0, done.stderr
    x = np.random.default_rng(0).standard_normal((3, 1, 6, 6), dtype=np.float32)
    back, source = (onnxruntime.InferenceSession(str(p)) for p in (tmp_path / "back.onnx", save_evaluation(tmp_path)))
    (got,), (want,) = (session.run(None, {session.get_inputs()[0].name: x}) for session in (back, source))
    np.testing.assert_allclose(got, want, atol=1e-5)


def save_evaluation(folder: Path) -> Path:
    """The source as its evaluation."""
    import onnx_ir as ir

    from migrate.frontends.onnx import open_onnx
    from migrate.frontends.onnx.evaluation import in_evaluation

    path = folder / "evaluation.onnx"
    ir.save(in_evaluation(open_onnx(conv_net())), path)
    return path


# ---- refusals leave nothing


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("missing.onnx", None, 3),
        ("empty.onnx", b"", 3),
        ("picture.onnx", b"\x89PNG\r\n\x1a\n" + bytes(64), 3),
        ("cut.onnx", mlp().SerializeToString()[:300], 3),
        ("unknown.onnx", unsupported().SerializeToString(), 4),
    ],
)
def test_a_refused_file_leaves_nothing(name: str, content: bytes | None, status: int, tmp_path: Path) -> None:
    place, scratch = tmp_path / "work", tmp_path / "scratch"
    place.mkdir()
    scratch.mkdir()
    if content is not None:
        (place / name).write_bytes(content)
    before, start = tree(tmp_path), time.monotonic()
    done = migrate("convert", name, "--target", "cpu", "-o", "deep/er/out", cwd=place, scratch=scratch)
    assert done.returncode == status, done.stderr
    assert time.monotonic() - start < 10
    assert done.stdout == "" and "Traceback" not in done.stderr
    assert tree(tmp_path) == before and not (place / "deep").exists() and list(scratch.iterdir()) == []
    if status == 4:
        assert re.findall(r"MIG201 error: operator (\S+) .* at (\S+)", done.stderr) == [
            ("Mystery", "first"), ("com.vendor::Fancy", "second"),
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["--target", "nothing"], 2, "MIG410"),
        (["--target", "cpu", "--name", "../x"], 2, "MIG106"),
        (["--target", "cpu", "--name", 'x"); import os #'], 2, "MIG106"),
        (["--target", "cpu", "--name", "class"], 2, "MIG106"),
        (["--target", "cpu", "--name", ""], 2, "MIG106"),
        (["--target", "cpu", "--name", "torch"], 2, "MIG106"),
        (["--target", "cpu", "--input", "x=2,8"], 2, "MIG105"),
        (["--target", "cpu", "--input", "x:2,0"], 2, "MIG105"),
        (["--target", "cpu", "--input", "z:2,8"], 2, "MIG111"),
        (["--target", "cpu", "--loss", "hinge"], 2, "MIG113"),
        (["--target", "cpu", "--precision", "fp8"], 2, "MIG113"),
        (["--target", "cpu", "--optimizer", "lion"], 2, "MIG113"),
        (["--target", "cpu", "--freeze", "nothing*"], 2, "MIG115"),
        (["--target", "cpu", "--freeze", "*"], 4, "MIG313"),
        ([], 2, "--target"),
        (["--target", "cpu", "--nonsense"], 2, "--nonsense"),
    ],
)
def test_wrong_usage(arguments: list[str], status: int, code: str, small: Path, tmp_path: Path, invoke: Any) -> None:
    before = tree(tmp_path)
    found, out, err = invoke("convert", small, "-o", tmp_path / "out", *arguments)
    assert (found, out) == (status, "") and code in err and "Traceback" not in err
    assert tree(tmp_path) == before and not (tmp_path / "out").exists()


def test_an_existing_folder_is_left_alone(small: Path, tmp_path: Path, invoke: Any) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine.txt").write_text("mine")
    for extra, code in (([], "MIG107"), (["--overwrite"], "MIG117")):
        status, _, err = invoke("convert", small, "--target", "cpu", "-o", taken, *extra)
        assert status == 2 and code in err
    status, _, err = invoke("convert", small, "--target", "cpu", "-o", small, "--overwrite")
    assert status == 2 and "MIG117" in err
    assert (taken / "mine.txt").read_text() == "mine" and small.read_bytes() == mlp().SerializeToString()


def test_a_place_that_cannot_be_written(small: Path, invoke: Any) -> None:
    status, _, err = invoke("convert", small, "--target", "cpu", "-o", small / "below" / "a" / "file")
    assert status == 2 and "MIG118" in err


def test_our_own_faults_say_so(small: Path, invoke: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from migrate import pipeline

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(pipeline, "inspect", broken)
    status, out, err = invoke("inspect", small)
    assert (status, out) == (1, "") and "planted" in err and "bug of migrate" in err


# ---- the other commands


def test_inspect(small: Path, invoke: Any) -> None:
    status, out, _ = invoke("inspect", small)
    assert status == 0 and "linear" in out and "parameter 'W1': (8, 6)" in out
    status, out, _ = invoke("inspect", small, "--json")
    found = json.loads(out)
    assert status == 0 and [w["name"] for w in found["weights"]] == ["W1", "b1", "W2"]


def test_inspect_shows_what_cannot_be_trained(tmp_path: Path, invoke: Any) -> None:
    status, out, _ = invoke("inspect", save(build([node("Relu", ["x"], ["y"])], {}), tmp_path / "none.onnx"))
    assert status == 0 and "relu" in out


def test_inspect_sends_no_control_characters(tmp_path: Path, invoke: Any) -> None:
    model = mlp()
    model.producer_name = "evil\x1b[2J\x00\r\nnext"
    model.graph.name = model.graph.node[0].name = "n\x1b[31m"
    status, out, _ = invoke("inspect", save(model, tmp_path / "m.onnx"))
    assert status == 0 and all(line.isprintable() for line in out.split("\n"))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["targets"], "vendor_a"),
        (["targets", "vendor_a"], "memory.bytes"),
        (["ops"], "Conv"),
        (["ops", "--target", "cpu"], "addmm"),
    ],
)
def test_lists(arguments: list[str], word: str, invoke: Any) -> None:
    status, out, err = invoke(*arguments)
    assert (status, err) == (0, "") and word in out
    status, out, _ = invoke(*arguments, "--json")
    assert status == 0 and word in json.dumps(json.loads(out))


def test_check_tells_what_the_target_degrades(small: Path, lacking: Path, tmp_path: Path, invoke: Any) -> None:
    page = tmp_path / "page.html"
    status, out, _ = invoke("check", small, "--target", lacking, "--strict", "--json", "--html", page)
    report = json.loads(out)
    VALIDATOR.validate(report)
    assert status == 6 and report["verdict"]["outcome"] == "degraded"
    rows = {row["operator"]: row for row in report["mapping"]}
    assert rows["relu"]["state"] == "composed" and "Relu_r" in rows["relu"]["nodes"]
    text = page.read_text()
    assert text.lower().startswith("<!doctype html") and "threshold_backward" in text and "http://" not in text


def test_check_puts_targets_side_by_side(small: Path, lacking: Path, tmp_path: Path, invoke: Any) -> None:
    targets = ("--target", "ascend_910b", "--target", lacking)
    status, out, err = invoke("check", small, *targets, "--strict")
    assert status == 6
    rows = {words[0]: words[1] for line in out.splitlines() if len(words := line.split()) > 1}
    assert (rows["ascend_910b"], rows[lacking.stem]) == ("trains", "degraded")
    assert err.count("reading the model") == 1
    status, out, _ = invoke("check", small, *targets, "--json")
    reports = json.loads(out)
    for report in reports:
        VALIDATOR.validate(report)
    assert status == 0 and [report["target"]["name"] for report in reports] == ["ascend_910b", lacking.stem]
    assert invoke("check", small, *targets, "--html", tmp_path / "page.html")[0] == 2


def test_check_on_a_target_that_has_all(small: Path, invoke: Any) -> None:
    status, out, _ = invoke("check", small, "--target", "vendor_a", "--strict", "--json", "--batch-size", 16)
    report = json.loads(out)
    assert status == 0 and report["verdict"]["outcome"] == "trains" and report["prediction"]["batch_size"] == 16
    assert report["package"] is None and report["parity"] == []


def test_verify_asks_for_a_package(tmp_path: Path, invoke: Any) -> None:
    status, _, err = invoke("verify", tmp_path)
    assert status == 3 and "MIG108" in err


def test_the_command_is_installed() -> None:
    done = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=True)
    assert all(word in done.stdout for word in ("convert", "check", "verify", "inspect", "targets", "ops"))
    assert Path(COMMAND).parent == Path(sys.executable).parent
