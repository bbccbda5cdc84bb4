"""Sizes that stay free beyond the batch: named by the user, sampled, held against the source at other sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import migrate
from migrate.codegen import plan_package, to_module
from migrate.codegen.render import render_package
from migrate.errors import MigrateError
from migrate.frontends.pytorch import export_module, load_pytorch
from migrate.frontends.pytorch.sizes import names_of, numbers
from migrate.graph.passes import run_passes
from migrate.options import Options
from tests.migrate.frontends.pytorch.models import GPT
from tests.migrate.frontends.pytorch.parity import assert_same


class Picture(nn.Module):
    """Any picture whose sides are even."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(4, 3, 2, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.up(self.conv(x).relu())


class Positions(nn.Module):
    """Sequences up to the length of a table, with a mask of the same length."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(40, 6))
        self.fc = nn.Linear(6, 6)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.fc(x + self.table[: x.shape[1]])
        return (x * mask[:, :, None]).sum(1) / x.shape[1]


class Fixed(nn.Module):
    """Adds a table of one length."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(12, 6))

    def forward(self, x: Tensor) -> Tensor:
        x = x * 2.0
        return x + self.table


def picture(batch: int, *sizes: int) -> tuple[Tensor, ...]:
    return (torch.randn(batch, 3, *sizes),)


def positions(batch: int, length: int) -> tuple[Tensor, ...]:
    return torch.randn(batch, length, 6), torch.rand(batch, length).round()


def tokens(batch: int, length: int) -> tuple[Tensor, ...]:
    return (torch.randint(0, 50, (batch, length)),)


FREE: dict[str, tuple[Any, dict[str, tuple[int | str, ...]], Any, list[tuple[int, ...]]]] = {
    "picture": (Picture, {"x": (2, 3, "H", "W")}, picture, [(2, 32, 48), (5, 10, 6)]),
    "table of positions": (Positions, {"x": (2, "T", 6), "mask": (2, "T")}, positions, [(4, 12), (3, 40), (2, 5)]),
    "gpt": (GPT, {"idx": (2, "T")}, tokens, [(2, 16), (3, 32), (4, 7)]),
}


@pytest.mark.parametrize("case", FREE)
def test_a_free_size(case: str) -> None:
    make, shapes, draw, sizes = FREE[case]
    torch.manual_seed(0)
    module = make()
    program = export_module(module, draw(*sizes[0]), names_of(shapes))
    assert program.notes == () and program.declared_batch == 1
    graph = load_pytorch(program)
    run_passes(graph)
    plan = plan_package(graph, name="m")
    assert dict(plan.sizes) == dict(zip(dict.fromkeys(names_of(shapes).values()), sizes[0][1:], strict=True))
    assert [spec.shape[1:] for spec in plan.inputs] == [sizes[1:] for sizes in shapes.values()]
    ours = to_module(plan)
    for given in sizes:
        assert_same(ours.eval(), module.eval(), draw(*given))


def test_the_range_is_told() -> None:
    program = export_module(Positions(), positions(4, 12), names_of({"x": (2, "T", 6), "mask": (2, "T")}))
    assert {(fact.name, fact.low, fact.high) for fact in program.sizes} == {("T", 2, 40)}
    assert all(size <= 40 for fact in program.sizes for sample in fact.samples for size in sample)
    graph = load_pytorch(program)
    run_passes(graph)
    config = render_package(plan_package(graph, name="m"))["m/config.py"]
    assert "# T: 2 to 40\nSIZES" in config


def test_a_size_that_export_fixes_is_told_with_its_line() -> None:
    program = export_module(Fixed(), (torch.randn(3, 12, 6),), {("x", 1): "T"})
    (note,) = program.notes
    text = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = next(k for k, one in enumerate(text, 1) if "return x + self.table" in one)
    assert (note.code, note.severity, note.what) == ("MIG326", "warning", "size T (axis 1 of x) stays 12")
    assert note.where.endswith(f"test_sizes.py:{line}")
    assert load_pytorch(program).outputs[0].shape[1:] == (12, 6)


def test_the_python_api_takes_names() -> None:
    module = Picture().eval()
    made = migrate.to_module(module, Options(input_shapes={"x": (2, 3, "H=32", "W")}))
    assert made(torch.randn(2, 3, 20, 8)).shape == (2, 3, 20, 8)
    kept = migrate.load(module, Options(input_shapes={"x": (2, 3, "H", 16)}), example_inputs=picture(2, 24, 16))
    assert str(kept.inputs[0].shape[2]) != "24" and kept.inputs[0].shape[3] == 16


@pytest.mark.parametrize(
    ("sizes", "like", "expected"),
    [
        ((2, 3, "H=32", "W"), None, (2, 3, 32, 64)),
        ((2, "T", "T"), None, (2, 64, 64)),
        (("N", "T"), torch.zeros(5, 7), (5, 7)),
        (("N", "T"), None, (2, 64)),
    ],
)
def test_numbers_of_names(sizes: tuple[int | str, ...], like: Any, expected: tuple[int, ...]) -> None:
    assert numbers(sizes, like, {}) == expected


@pytest.mark.parametrize("size", ["H=1", "H=", "3x", "H=0"])
def test_sizes_that_cannot_be_read(size: str) -> None:
    with pytest.raises(MigrateError, match="MIG105"):
        numbers((2, size), None, {})
