"""Stochastic depth: nothing in evaluation, whole samples in training, and the same mean."""

from __future__ import annotations

import pytest
import torch

from runtime.functional.random import drop_path


def test_it_does_nothing_in_evaluation_or_at_rate_zero() -> None:
    x = torch.randn(4, 3)
    assert drop_path(x, 0.5, False) is x
    assert drop_path(x, 0.0, True) is x


@pytest.mark.parametrize("scaled", [True, False])
def test_a_sample_is_kept_or_dropped_as_a_whole(scaled: bool) -> None:
    torch.manual_seed(0)
    y = drop_path(torch.ones(1000, 2, 3), 0.25, True, scaled=scaled)
    kept = 1 / 0.75 if scaled else 1.0
    rows = y.flatten(1)
    assert bool((rows == rows[:, :1]).all())
    assert all(value == pytest.approx(0.0 if value < 0.5 else kept) for value in rows[:, 0].tolist())
    assert float((rows[:, 0] > 0).float().mean()) == pytest.approx(0.75, abs=0.05)


def test_a_batch_is_one_draw() -> None:
    torch.manual_seed(0)
    totals = {float(drop_path(torch.ones(4, 2), 0.5, True, each=False).sum()) for _ in range(20)}
    assert totals == {0.0, 16.0}


def test_a_rate_of_one_drops_everything() -> None:
    assert not drop_path(torch.ones(4, 2), 1.0, True).any()
