"""What a module does in one mode only, and what it changes of itself: outputs, gradients and buffers against the source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrizations

import migrate
from migrate.errors import MigrateError
from migrate.frontends.pytorch import export_module, load_pytorch
from migrate.options import Options
from tests.migrate.frontends.pytorch.parity import check

Function = Callable[[Any, Tensor], Any]
IMAGE, ROWS = (3, 6, 5, 5), (3, 6)


def name_of(function: Function) -> str:
    return function.__name__


class Of(nn.Module):
    """A function of two layers, buffers and the input, as a module."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function
        self.first, self.second = nn.Linear(6, 6), nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.ReLU())
        self.register_buffer("mean", torch.linspace(0.5, 1.0, 6))
        self.register_buffer("table", torch.arange(18.0).view(3, 6) / 9)
        self.register_buffer("steps", torch.tensor(3))

    def forward(self, x: Tensor) -> Any:
        return self.function(self, x)


class Outer(nn.Module):
    """The same, below another module and called twice."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.inner = Of(function)

    def forward(self, x: Tensor) -> Any:
        return self.inner(self.inner(x))


def other_function(m: Any, x: Tensor) -> Tensor:
    y = m.first(x)
    return F.gelu(y) if m.training else F.relu(y)


def other_module(m: Any, x: Tensor) -> Tensor:
    return 2 * (m.second(x) if m.training else m.first(x))


def more_in_training(m: Any, x: Tensor) -> Tensor:
    x = m.first(x)
    if m.training:
        x = x + 0.1 * torch.tanh(m.second(x)) * torch.tensor([0.5])
    return x


def noise(m: Any, x: Tensor) -> Tensor:
    x = m.first(x)
    return x + 0.1 * torch.randn_like(x) if m.training else x


def always_noise(m: Any, x: Tensor) -> Tensor:
    x = m.first(x)
    return x + torch.rand(x.shape) + torch.randn_like(x)


def counts(m: Any, x: Tensor) -> Tensor:
    m.steps += 1
    return m.first(x) * m.steps


def counts_in_training(m: Any, x: Tensor) -> Tensor:
    if m.training:
        m.steps.add_(1)
    return m.first(x)


def assigned(m: Any, x: Tensor) -> Tensor:
    """What was computed from the old content keeps its gradient."""
    y = m.first(x) * m.mean
    m.mean = 0.9 * m.mean + 0.1 * x.mean(0).detach()
    return m.first(y) * m.mean


def average(m: Any, x: Tensor) -> Tensor:
    if m.training:
        with torch.no_grad():
            m.mean.mul_(0.9).add_(m.first(x).mean(0), alpha=0.1)
    return m.first(x) - m.mean


def parts(m: Any, x: Tensor) -> Tensor:
    if m.training:
        with torch.no_grad():
            m.table[0] = x.mean(0)
            m.table[1:].mul_(0.5)
            m.table.copy_(m.table * 2)
    return m.first(x) * m.table[0]


def code_book(m: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """A vector quantiser that learns by averages."""
    z = m.first(x)
    nearest = torch.cdist(z, m.table).argmin(1)
    quantised = F.embedding(nearest, m.table)
    if m.training:
        with torch.no_grad():
            hot = F.one_hot(nearest, 3).to(z.dtype)
            m.table.mul_(0.9).add_(hot.t() @ z, alpha=0.1)
            m.steps += 1
    return z + (quantised - z).detach(), (quantised.detach() - z).square().mean()


CHANGES: tuple[Function, ...] = (counts, counts_in_training, assigned, average, parts, code_book)
TWICE: tuple[Function, ...] = (other_function, counts_in_training, assigned, average)
FOLLOWS: tuple[Function, ...] = (other_function, other_module, more_in_training, noise, always_noise)


@pytest.mark.parametrize("function", (*FOLLOWS, *CHANGES), ids=name_of)
def test_a_module_with_modes_of_its_own(function: Function) -> None:
    torch.manual_seed(0)
    check(Of(function), (torch.randn(ROWS),), (torch.randn(5, 6),))


@pytest.mark.parametrize("function", TWICE, ids=name_of)
def test_the_same_in_a_module_that_is_called_twice(function: Function) -> None:
    torch.manual_seed(0)
    check(Outer(function), (torch.randn(ROWS),), (torch.randn(5, 6),))


class BatchNormAct(nn.BatchNorm2d):
    """As in timm: normalisation and activation in one module, which counts its batches itself."""

    def __init__(self, num: int) -> None:
        super().__init__(num)
        self.act = nn.SiLU()

    def forward(self, input: Tensor) -> Tensor:
        if self.training:
            self.num_batches_tracked.add_(1)  # pyright: ignore[reportOptionalMemberAccess]
        training, momentum = self.training, self.momentum or 0.1
        y = F.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, training, momentum, self.eps
        )  # fmt: skip
        return self.act(y)


LAYERS = {
    "norm and activation": (BatchNormAct(6), IMAGE),
    "norm": (nn.Sequential(nn.Conv2d(6, 6, 1), nn.BatchNorm2d(6)), IMAGE),
    "spectral norm": (parametrizations.spectral_norm(nn.Linear(6, 5)), ROWS),
    "spectral norm of a convolution": (parametrizations.spectral_norm(nn.Conv2d(6, 5, 3), n_power_iterations=2), IMAGE),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_counts_and_iterates_as_the_source(name: str) -> None:
    layer, shape = LAYERS[name]
    text = check(nn.Sequential(layer, nn.Identity()), (torch.randn(shape),), (torch.randn(5, *shape[1:]),))
    assert ("count_batch(" in text) == (name == "norm and activation")


def in_evaluation_only(m: Any, x: Tensor) -> Tensor:
    if not m.training:
        m.steps += 1
    return m.first(x)


def own_parameter(m: Any, x: Tensor) -> Tensor:
    with torch.no_grad():
        m.first.weight.clamp_(-1.0, 1.0)
    return m.first(x)


def fewer_in_training(m: Any, x: Tensor) -> Any:
    return m.first(x) if m.training else (m.first(x), x)


REFUSED: dict[Function, str] = {in_evaluation_only: "MIG320", own_parameter: "MIG203", fewer_in_training: "MIG320"}


@pytest.mark.parametrize("function", REFUSED, ids=name_of)
def test_what_cannot_be_followed_is_refused_at_its_line(function: Function) -> None:
    with pytest.raises(MigrateError) as caught:
        load_pytorch(export_module(Of(function), (torch.randn(ROWS),)))
    assert {d.code for d in caught.value.diagnostics} == {REFUSED[function]}
    assert all("test_branches.py" in d.where or "output" in d.what for d in caught.value.diagnostics)


class Auxiliary(nn.Module):
    """A second head that only training has; `form` says how both results are returned."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form
        self.stem, self.head = nn.Conv2d(6, 6, 1), nn.Linear(6, 4)
        self.aux = nn.Sequential(nn.Conv2d(6, 4, 1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten(1))

    def forward(self, x: Tensor) -> Any:
        x = self.stem(x)
        main = F.dropout(self.head(x.mean((2, 3))), 0.2, self.training)
        other = self.aux(x) if self.training else None
        if self.form == "tuple":
            return main if other is None else (main, other)
        if self.form == "first":
            return main if other is None else (other, main)
        return {"out": main} if other is None else {"aux": other, "out": main}


@pytest.mark.parametrize("form", ["tuple", "first", "dict"])
def test_what_only_training_returns_is_left_out_and_named(form: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    source = Auxiliary(form)
    report = migrate.convert(source, "cpu", tmp_path / "out", Options(name="m"), example_inputs=(torch.randn(IMAGE),))
    assert not [row for row in report.parity if not row.passed and row.decides]
    assert report.verdict.outcome == "verified"
    (note,) = (d for d in report.diagnostics if d.code == "MIG324")
    assert note.where == "aux"
    emitted = migrate.to_module(source, example_inputs=(torch.randn(IMAGE),))
    emitted.load_state_dict(source.state_dict(), strict=True)
    assert isinstance(emitted.train()(torch.randn(IMAGE)), Tensor)
