"""The losses of the user's own loop are those of the package's, and a package that trains otherwise is found out."""

from __future__ import annotations

import textwrap
from functools import partial
from pathlib import Path

import pytest

import migrate
from migrate.options import Options
from migrate.sources import open_source
from migrate.training_setup import carry
from migrate.verify.process import ask_package
from migrate.verify.user_loop import CHECK, user_loop_rows

FACTORY = """
import torch
from torch import nn

def build(loss=nn.CrossEntropyLoss(label_smoothing=0.1), batch=True):
    module = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.GELU(), nn.Linear(8, 3))
    groups = [{"params": module[0].parameters()}, {"params": module[1:].parameters(), "lr": 0.05, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=0.01, weight_decay=0.2)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.2, total_iters=3)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
    found = {
        "module": module, "inputs": torch.randn(2, 4), "optimizer": optimizer, "loss": loss,
        "scheduler": torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, cosine], [3]),
    }
    return found | ({"batch": (torch.randn(6, 4), torch.randint(3, (6,)))} if batch else {})

def strange():
    return build(loss=lambda output, target: output.square().mean())

def without():
    return build(batch=False)

def unfitting():
    return build() | {"batch": (torch.randn(6, 9), torch.randint(3, (6,)))}
"""


@pytest.fixture
def users_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users_loop.py").write_text(textwrap.dedent(FACTORY))
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("users_module")
def test_the_package_trains_as_its_user_did() -> None:
    report = migrate.convert("users_loop:build", "cpu", "out", Options(name="m"))
    (row,) = (row for row in report.parity if row.check == CHECK)
    assert row.passed and row.error is not None and row.error < 1e-12
    settings = Path("out/m/train.toml").read_text()
    oracle = open_source("users_loop:build").oracle()
    ask = partial(ask_package, Path("out"), "m")

    def off() -> float:
        (found,) = user_loop_rows(oracle, lambda task, case, out: ask(task, case, 0, out))
        assert found.error is not None and found.passed == (found.error <= 1e-6)
        return found.error

    assert off() < 1e-12, "asked again: the user's objects are as before"
    changes = {
        "lr = 0.01": "lr = 0.0101",
        "weight_decay = 0.2": "weight_decay = 0.1",
        "warmup_steps = 3": "warmup_steps = 4",
    }
    for right, wrong in changes.items():
        assert right in settings
        Path("out/m/train.toml").write_text(settings.replace(right, wrong, 1))
        assert off() > 1e-6, wrong


@pytest.mark.usefixtures("users_module")
@pytest.mark.parametrize(
    ("name", "why"), [("without", "no batch"), ("unfitting", "RuntimeError: mat1 and mat2"), ("strange", "")]
)
def test_no_loop_is_compared_where_a_part_of_it_is_missing(name: str, why: str) -> None:
    opened = open_source(f"users_loop:{name}")
    oracle = opened.oracle()
    found = oracle.losses(1)
    assert [note.code for note in oracle.notes] == (["MIG509"] if why else [])
    assert all(why in note.why for note in oracle.notes)
    assert (found is None) == bool(why)
    assert opened.setup is not None
    assert [note.code for note in carry(opened.setup).notes] == ([] if why else ["MIG325"])
