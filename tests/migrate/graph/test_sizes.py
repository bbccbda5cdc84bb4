"""Sizes: arithmetic at three assignments, printed as it was made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrate.graph import Dim, SizeError, SizeOf, Value
from migrate.graph.sizes import apply, equal, numel, render

X = Value("x", "float32", ())
BATCH = Dim((2, 3, 5), SizeOf(X, 0, "batch"))
WIDTH = Dim((64, 96, 160), SizeOf(X, 3, "width"))


@pytest.mark.parametrize(
    ("size", "values", "text"),
    [
        (BATCH * 4, (8, 12, 20), "batch * 4"),
        (4 * BATCH + 1, (9, 13, 21), "(4 * batch) + 1"),
        ((WIDTH - 1) // 2 + 1, (32, 48, 80), "((width - 1) // 2) + 1"),
        (BATCH * WIDTH, (128, 288, 800), "batch * width"),
        (apply("floor", WIDTH * 0.5), (32, 48, 80), "math.floor(width * 0.5)"),
        (apply("max", BATCH, 3), (3, 3, 5), "max(batch, 3)"),
        (-BATCH, (-2, -3, -5), "0 - batch"),
    ],
)
def test_arithmetic_keeps_its_expression(size: Dim, values: tuple[int, ...], text: str) -> None:
    assert size.values == values
    assert render(size) == text


def test_what_is_the_same_everywhere_is_a_number() -> None:
    assert BATCH - BATCH == 0
    assert WIDTH // WIDTH == 1
    assert isinstance(numel([BATCH, 4]) // BATCH, int)


def test_neutral_operations_leave_the_size_itself() -> None:
    assert BATCH + 0 is BATCH
    assert BATCH * 1 is BATCH
    assert BATCH // 1 is BATCH


def test_sizes_are_equal_by_value_not_by_expression() -> None:
    half = WIDTH // 2
    assert half == Dim((32, 48, 80), SizeOf(X, 2))
    assert equal(half * 2, WIDTH)
    assert half != BATCH


def test_a_comparison_is_decided_where_all_assignments_agree() -> None:
    assert BATCH < WIDTH
    assert BATCH >= 2
    with pytest.raises(SizeError, match="batch > 2"):
        _ = BATCH > 2


@given(st.integers(1, 50), st.integers(1, 50))
def test_arithmetic_agrees_with_integers_at_each_assignment(a: int, b: int) -> None:
    result = (BATCH * a + b) // a
    expected = tuple((n * a + b) // a for n in BATCH.values)
    assert (result.values if isinstance(result, Dim) else (result,) * 3) == expected
