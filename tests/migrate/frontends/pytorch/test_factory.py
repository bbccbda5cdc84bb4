"""Factories, in this process: what is found, what is called, and what is said where the user's code fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from migrate.errors import Exit, MigrateError
from migrate.frontends.pytorch.factory import open_factory, open_pickle, prepare
from migrate.frontends.pytorch.worker import Session
from tests.migrate.frontends.pytorch.archives import saved
from tests.migrate.frontends.pytorch.users import write_project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(write_project(tmp_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    prepare(Session(), tmp_path, {"folders": [], "seed": 3})
    yield tmp_path
    for name in ("mine", "broken", "missing"):
        sys.modules.pop(name, None)


def opened(reference: str) -> Session:
    session = Session()
    open_factory(session, Path(), {"reference": reference})
    return session


@pytest.mark.parametrize(
    ("reference", "kind", "training"),
    [
        ("mine:build", "none", []),
        ("mine:Net", "none", []),
        ("mine:module", "none", []),
        ("mine:pair", "tensor", []),
        ("mine:by_name", "dict", []),
        ("mine:full", "tuple", ["batch", "loss", "optimizer", "scheduler"]),
        ("mine:as_object", "tensor", ["loss", "optimizer"]),
    ],
)
def test_what_a_factory_may_return(reference: str, kind: str, training: list[str], project: Path) -> None:
    session = opened(reference)
    assert type(session.module).__name__ == "Net"
    assert {"none": type(None), "tensor": torch.Tensor, "dict": dict, "tuple": tuple}[kind] is type(session.inputs)
    assert sorted(session.training) == training


@pytest.mark.parametrize(
    ("reference", "code", "place", "words"),
    [
        ("mine:raises", "MIG126", "mine.py:{}, in raises", "KeyError: 'missing'"),
        ("mine:in_a_library", "MIG126", "mine.py:{}, in in_a_library", "RuntimeError"),
        ("mine:leaves", "MIG126", "mine.py:{}, in leaves", "SystemExit: bye"),
        ("mine:needs", "MIG125", "", "needs the arguments width"),
        ("mine:nothing", "MIG125", "", "it has Net"),
        ("mine:text", "MIG128", "", "gives a str"),
        ("mine:number", "MIG128", "", "gives a int"),
        ("broken:f", "MIG126", "broken.py:2", "SyntaxError"),
        ("missing:f", "MIG126", "missing.py:1, in <module>", "No module named 'not_installed_anywhere'"),
        ("absent.models:f", "MIG125", "", "no module 'absent'"),
        ("mine.models:f", "MIG125", "", "no module 'mine.models'"),
    ],
)
def test_what_goes_wrong_is_said_at_its_line(reference: str, code: str, place: str, words: str, project: Path) -> None:
    with pytest.raises(MigrateError) as caught:
        opened(reference)
    found = caught.value.diagnostics[0]
    assert (found.code, caught.value.status) == (code, Exit.INPUT)
    assert words in str(found)
    if place:
        lines = (project / "mine.py").read_text().splitlines()
        name = reference.partition(":")[2]
        start = next((n for n, line in enumerate(lines) if line.startswith(f"def {name}(")), 0)
        last = next((n for n, line in enumerate(lines[start:], start) if not line.strip()), 0)
        assert found.where == place.format(last)


def test_the_seed_decides_the_weights(project: Path) -> None:
    opened("mine:build")  # importing draws as well
    prepare(Session(), project, {"folders": [], "seed": 5})
    first = opened("mine:build").module.first.weight
    prepare(Session(), project, {"folders": [], "seed": 5})
    assert torch.equal(first, opened("mine:build").module.first.weight)
    prepare(Session(), project, {"folders": [], "seed": 6})
    assert not torch.equal(first, opened("mine:build").module.first.weight)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (nn.Linear(2, 3), ""),
        ({"model": nn.Linear(2, 3), "epoch": 4}, ""),
        ({"a": nn.Linear(2, 3), "b": nn.ReLU()}, "modules: a, b"),
        ({"epoch": 4}, "modules: none"),
    ],
)
def test_a_pickled_module(value: object, words: str, tmp_path: Path) -> None:
    (tmp_path / "net.pt").write_bytes(saved(value))
    session = Session()
    if words:
        with pytest.raises(MigrateError, match=words):
            open_pickle(session, tmp_path, {"path": str(tmp_path / "net.pt")})
    else:
        open_pickle(session, tmp_path, {"path": str(tmp_path / "net.pt")})
        assert isinstance(session.module, nn.Linear)
