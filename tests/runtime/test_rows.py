"""Tensors with several rows of each sample on the batch axis: drawn, taken from the user's data, joined."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import migrate
from migrate.errors import MigrateError
from migrate.options import Options
from runtime.package import PackageError, TensorSpec
from runtime.train.data import CheckedSamples, SyntheticSamples
from runtime.train.order import collate
from tests.migrate.frontends.pytorch.parity import plan_of

X = TensorSpec(name="x", shape=("batch", 3))
ROWS = TensorSpec(name="target", shape=("4*batch", 2), rows=4)


def test_samples_lie_side_by_side() -> None:
    samples = SyntheticSamples((X, ROWS), {}, 5, seed=0)
    assert [tuple(t.shape) for t in samples[0]] == [(3,), (4, 2)]
    x, rows = collate((X, ROWS), [samples[1], samples[2]])
    assert x.shape == (2, 3) and torch.equal(rows, torch.cat([samples[1][1], samples[2][1]]))
    assert ROWS.draw({}, 2, torch.Generator()).shape == (8, 2)


def test_the_users_samples_must_have_all_rows() -> None:
    def dataset(rows: int) -> list[tuple[Tensor, Tensor]]:
        return [(torch.zeros(3), torch.zeros(rows, 2))]

    assert CheckedSamples(lambda: dataset(4), (X,), (ROWS,))[0][1].shape == (4, 2)
    with pytest.raises(PackageError, match=r"\[3, 2\], and \[4, 2\] is needed"):
        CheckedSamples(lambda: dataset(3), (X,), (ROWS,))[0]


class Flat(nn.Module):
    """A language model whose result is flat, as a loss takes it."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(11, 8), nn.Linear(8, 11)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.head(self.embed(ids))
        return logits.flatten(0, 1), logits.mean(1)


def test_a_flat_result_is_trained_by_rows(tmp_path: Path) -> None:
    ids = torch.randint(0, 11, (3, 5))
    options = Options(name="m", loss="cross_entropy")
    report = migrate.convert(Flat(), "cpu", tmp_path / "out", options, example_inputs=(ids,))
    assert report.verdict.outcome == "verified"
    assert "rows=5" in (tmp_path / "out" / "m" / "loss.py").read_text()


def test_a_free_number_of_rows_is_refused(tmp_path: Path) -> None:
    options = Options(name="m", input_shapes={"ids": (3, "T")})
    with pytest.raises(MigrateError, match="MIG331"):
        migrate.convert(Flat(), "cpu", tmp_path / "out", options, example_inputs=(torch.randint(0, 11, (3, 5)),))


class Pairs(nn.Module):
    """Two encoders and how alike their results are, each with each."""

    def __init__(self, alone: bool) -> None:
        super().__init__()
        self.left, self.right, self.alone = nn.Linear(8, 4), nn.Linear(6, 4), alone

    def forward(self, x: Tensor, y: Tensor) -> Tensor | tuple[Tensor, ...]:
        a, b = self.left(x), self.right(y)
        return a @ b.T if self.alone else (a @ b.T, a, b)


def test_what_is_of_two_samples_has_no_target() -> None:
    example = (torch.randn(3, 8), torch.randn(3, 6))
    terms = plan_of(Pairs(alone=False), example).losses
    assert [term.output for term in terms] == [1, 2]
    with pytest.raises(MigrateError, match="belongs into the loss"):
        plan_of(Pairs(alone=True), example)
