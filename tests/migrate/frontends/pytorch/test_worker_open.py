"""Opening PyTorch sources by their kind: what becomes a program, and where its module lives."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from migrate.errors import Exit, MigrateError
from migrate.frontends.pytorch.worker_open import Examples, open_program
from tests.migrate.frontends.pytorch.archives import program_bytes, saved
from tests.migrate.frontends.pytorch.users import write_project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(write_project(tmp_path / "project"))
    return tmp_path / "project"


def test_a_factory_becomes_a_program(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    opened = open_program("mine:full", "factory", examples=Examples(), pythonpath=[project], seed=1)
    keys = [fact.key for fact in opened.program.state]
    assert keys[:3] == ["first.weight", "first.bias", "norm.weight"] and "norm.running_mean" in keys
    assert opened.program.training is not None
    assert opened.program.evaluation.module()(torch.zeros(5, 4)).shape == (5, 2)
    assert opened.setup.optimizer and opened.setup.optimizer.groups[0].parameters == ("first.weight", "first.bias")
    assert opened.setup.batch["targets.0"].tolist() == [0, 1, 0]
    assert opened.worker and opened.worker.ask("factory:open_factory", reference="mine:pair")["class"] == "Net"
    assert [p.name for p in opened.worker.folder.iterdir() if p.suffix == ".pt2"] == [], "the weights are in memory"
    opened.worker.close()


def test_inputs_of_the_command_line(project: Path) -> None:
    shapes = Examples(shapes={"tokens": (2, 6)}, dtypes={"tokens": "int64"})
    opened = open_program("mine:words", "factory", examples=shapes)
    assert opened.program.input_names == ("tokens",)
    with pytest.raises(MigrateError, match=r"MIG204.*mine.py:\d+") as caught:
        open_program("mine:chooses", "factory", examples=Examples())
    assert caught.value.status == Exit.UNSUPPORTED


def test_a_pickle_is_loaded_where_it_is_trusted(project: Path) -> None:
    path = project / "net.pt"
    path.write_bytes(saved({"model": torch.nn.Linear(4, 2)}))
    examples = Examples(shapes={"input": (2, 4)})
    with pytest.raises(MigrateError, match="MIG124"):
        open_program(path, "pickle", examples=examples)
    opened = open_program(path, "pickle", examples=examples, trust_pickle=True)
    assert [fact.key for fact in opened.program.state] == ["weight", "bias"]


def test_an_exported_program_needs_no_process(tmp_path: Path) -> None:
    (tmp_path / "model.pt2").write_bytes(program_bytes())
    opened = open_program(tmp_path / "model.pt2", "pt2", examples=Examples())
    assert opened.worker is None and opened.program.training is None
    assert opened.program.input_names == ("x",)
    for given in (Examples(shapes={"x": (2, 4)}), Examples(file=tmp_path / "x.npz")):
        with pytest.raises(MigrateError, match="MIG130") as caught:
            open_program(tmp_path / "model.pt2", "pt2", examples=given)
        assert caught.value.status == Exit.USAGE
