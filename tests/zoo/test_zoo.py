"""The measurement itself, and a sample of what the table says: another one every day, everything where asked for slow tests."""

from __future__ import annotations

import copy
import inspect
import os
import random
import time
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.zoo.cases import Case, family, family_names
from tests.zoo.measure import compare, exports_alone, measure, perturb
from tests.zoo.record import MEASURES, SIZES, Record, read, summary, write
from tests.zoo.run import measure_apart

COUNT, SECONDS = 3, 5  # how many of those that take no longer
DAY = int(os.environ.get("MIGRATE_DAY") or time.time() // 86400)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.drop, self.fc2 = nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(self.drop(torch.relu(self.fc1(x))))


class Detached(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(torch.relu(self.fc1(x)).detach())


class Louder(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) * (1.001 if self.training else 1.0)


class Branching(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) if x.sum() > 0 else x


def case(module: nn.Module) -> Case:
    return Case(module=module, inputs=lambda batch: (torch.ones(batch, 4).cumsum(1),))


def held(ours: nn.Module, source: nn.Module) -> Record:
    return compare(Record(family="f", name="n", exports=True, converts=True), ours, case(source))


def test_equal_modules_are_equal_with_dropout_off() -> None:
    source = Net()
    assert held(copy.deepcopy(source), source).equal


@pytest.mark.parametrize(
    ("kind", "wrong"), [(Detached, {"gradients", "curve", "trains"}), (Louder, {"outputs", "gradients", "curve"})]
)
def test_a_difference_is_seen(kind: type[Net], wrong: set[str]) -> None:
    source, ours = Net(), kind()
    perturb(source)
    ours.load_state_dict(source.state_dict())
    found = held(ours, source)
    assert {name for name in MEASURES if not getattr(found, name)} == wrong
    assert all(name in found.reason for name in wrong)


def test_a_missing_key_is_seen() -> None:
    source, ours = Net(), Net()
    ours.fc1 = nn.Linear(4, 8, bias=False)
    found = held(ours, source)
    assert not found.keys
    assert not found.equal


def test_what_torch_refuses_is_asked_of_torch() -> None:
    assert exports_alone(case(Net()))
    assert not exports_alone(case(Branching()))


def test_records_replace_older_ones_and_are_sorted(tmp_path: Path) -> None:
    path = tmp_path / "zoo.jsonl"
    write([Record(family="b", name="x"), Record(family="a", name="y")], path)
    write([Record(family="b", name="x", exports=True)], path)
    assert [(r.family, r.name, r.exports) for r in read(path)] == [("a", "y", False), ("b", "x", True)]


def test_the_summary_says_of_what_its_shares_are() -> None:
    good = dict.fromkeys(("exports", "converts", *MEASURES), True)
    records = [
        Record(family="f", name="a", **good),
        Record(family="f", name="b", exports=True),
        Record(family="f", name="c"),
    ]
    lines = summary([*records, Record(family="f", name="d", measured=False)]).splitlines()
    assert lines[:2] == ["4 models, 3 measured, torch.export refuses 1", "of the 2 others convert 1 (50.0 %)"]
    assert lines[-1] == "equal in all: 1 (50.0 %)"


def test_every_layer_has_a_case() -> None:
    from tests.zoo.families.torch_nn import NO_LAYERS, TABLE

    layers = {name for name, kind in vars(nn).items() if inspect.isclass(kind) and issubclass(kind, nn.Module)}
    tested = {type(m).__name__ for layer, _ in TABLE.values() for m in layer.modules()} | set(TABLE)
    assert {name for name in layers if not name.endswith("Loss")} - tested - NO_LAYERS == set()


def quick() -> list[Record]:
    return [r for r in read() if r.equal and r.seconds <= SECONDS]


@pytest.mark.parametrize("record", random.Random(DAY).sample(quick(), COUNT), ids=lambda r: f"{r.family}-{r.name}")
def test_a_model_is_as_the_table_says(record: Record) -> None:
    assert measure(record.family, record.name).reason == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", family_names())
def test_a_family_has_as_many_models_as_the_page_says(name: str) -> None:
    assert len(set(family(name).names())) == SIZES[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", family_names())
def test_a_family_is_as_the_table_says(name: str) -> None:
    told = [r for r in read() if r.family == name and r.equal]
    found = [measure_apart(name, r.name) for r in told]
    assert [(r.name, r.reason) for r in found if not r.equal] == []
