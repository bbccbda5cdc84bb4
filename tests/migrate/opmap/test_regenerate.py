from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from migrate.opmap import regenerate
from migrate.opmap.profile import TABLES

VERSIONS = [
    ("*", True),
    ("v2.1-", True),
    ("v2.9-", True),
    ("v2.14-", False),
    ("v2.1-v2.12", False),
    ("v2.1-v2.13", True),
    ("v2.1, v2.2", False),
    ("v2.1, v2.13", True),
]


@pytest.mark.parametrize(("column", "listed"), VERSIONS)
def test_version_columns(column: str, listed: bool):
    assert regenerate.lists_version(column, (2, 13)) is listed


@pytest.fixture(scope="module")
def operators() -> dict[str, regenerate.Declared]:
    return regenerate.read_declarations()


KINDS = [
    ("add.out", "kernel"),
    ("view", "metadata"),
    ("split.Tensor", "metadata"),
    ("squeeze_.dim", "metadata"),
    ("zeros_like", "composite"),
    ("select_backward", "composite"),
    ("convolution", "composite"),
    ("matmul", "implicit"),
    ("reshape", "implicit"),
    ("add_.Tensor", "kernel"),
]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_kinds_of_operators(operators: dict[str, regenerate.Declared], name: str, kind: str):
    assert operators[name].kind == kind


def test_families_bridge_levels_of_registration(operators: dict[str, regenerate.Declared]):
    for listed in ("_convolution", "convolution_overrideable", "convolution"):
        assert "convolution" in regenerate.covered(frozenset({listed}), operators.values())
    assert "convolution" not in regenerate.covered(frozenset({"addmm"}), operators.values())


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> dict[str, str]:
    written: dict[str, str] = {}

    def keep(name: str, header: list[str], rows: list[str]) -> None:
        written[name] = "\n".join([*(f"# {line}" for line in header), *rows]) + "\n"

    monkeypatch.setattr(regenerate, "write", keep)
    regenerate.main(arguments)
    return written


@pytest.mark.skipif(not version("torch").startswith("2.13.0"), reason="the tables were made with PyTorch 2.13.0")
def test_the_committed_tables_are_what_the_command_writes(monkeypatch: pytest.MonkeyPatch):
    written = run(monkeypatch)
    assert set(written) == {"aten.tsv", "cpu.tsv", "cuda.tsv", "mps.tsv"}
    for name, text in written.items():
        assert (TABLES / name).read_text() == text


def test_vendor_a_is_the_intersection_of_three_lists(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    rows = {
        "ascend": "convolution\taten\tv2.1-\nadd.out\taten\t*\nrelu\taten\tv2.1-v2.2\nmish\taten\t*\n",
        "musa": "convolution_overrideable\taten\t*\nadd.out\taten\t*\nrelu\taten\t*\n",
        "mlu": "_convolution\taten\t*\nadd.out\taten\t*\nrelu\taten\t*\nmish\tcustom\t*\n",
    }
    arguments: list[str] = []
    for vendor, text in rows.items():
        (tmp_path / vendor).write_text(f"# source: {vendor} list\n{text}")
        arguments += [f"--{vendor}", str(tmp_path / vendor)]
    written = run(monkeypatch, *arguments)
    # mish of mlu is the vendor's own operator, and relu left ascend's list after v2.2.
    names = {name: written[f"{name}.tsv"].splitlines() for name in rows}
    assert ("relu" in names["ascend"], "relu" in names["musa"], "mish" in names["mlu"]) == (False, True, False)
    lines = written["vendor_a.tsv"].splitlines()
    assert lines[:3] == ["# source: ascend list", "# source: musa list", "# source: mlu list"]
    assert [line for line in lines if not line.startswith("#")] == [
        "add.Tensor",
        "add.out",
        "add_.Tensor",
        "convolution",
    ]


def test_one_list_alone_makes_its_own_table_and_no_intersection(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "musa").write_text("# source: musa list\nadd.out\taten\t*\n")
    written = run(monkeypatch, "--musa", str(tmp_path / "musa"))
    assert "musa.tsv" in written
    assert not {"ascend.tsv", "mlu.tsv", "vendor_a.tsv"} & written.keys()


def test_the_xpu_table_is_that_of_cuda_less_what_runs_on_the_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "xpu").write_text("# source: xpu list\ncholesky_inverse\taten\t*\nadd.out\taten\t*\n")
    written = run(monkeypatch, "--xpu", str(tmp_path / "xpu"))
    cuda, xpu = ({line for line in written[name].splitlines() if line[0] != "#"} for name in ("cuda.tsv", "xpu.tsv"))
    assert cuda - xpu == {"cholesky_inverse", "add.out", "add.Tensor", "add_.Tensor"}
