"""Rearranging a weight, and putting it back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrate.graph import Step, Weight
from migrate.graph.weights import rearrange, scatter


def weight(array: np.ndarray) -> Weight:
    return Weight(source="w", read=lambda: array, source_shape=array.shape)


STEPS = [
    (),
    (Step("permute", (1, 0, 2)),),
    (Step("reshape", (4, 6)),),
    (Step("slice", (0, 1, 2)), Step("reshape", (3, 4))),
    (Step("take", (2, (3, 0, 1, 2))),),
    (Step("reshape", (6, 4)), Step("permute", (1, 0)), Step("slice", (1, 2, 5))),
]


@pytest.mark.parametrize("steps", STEPS, ids=lambda s: "-".join(step.kind for step in s) or "none")
def test_scatter_undoes_a_rearrangement(steps: tuple[Step, ...]) -> None:
    source = np.arange(24.0).reshape(2, 3, 4)
    target = rearrange(source, steps)
    back = np.zeros_like(source)
    scatter(back, target * 10, steps)
    assert np.array_equal(rearrange(back, steps), target * 10)
    untouched = back == 0
    assert untouched.sum() == source.size - target.size + int(target.min() == 0)


@given(st.permutations(range(3)), st.permutations(range(3)))
def test_permutations_join_and_vanish(first: list[int], second: list[int]) -> None:
    array = np.arange(24).reshape(2, 3, 4)
    joined = weight(array).then(Step("permute", tuple(first))).then(Step("permute", tuple(second)))
    assert len(joined.steps) <= 1
    assert np.array_equal(joined.array(), array.transpose(first).transpose(second))


def test_the_last_of_two_reshapes_counts() -> None:
    array = np.arange(6)
    twice = weight(array).then(Step("reshape", (2, 3))).then(Step("reshape", (3, 2)))
    assert twice.steps == (Step("reshape", (3, 2)),)
