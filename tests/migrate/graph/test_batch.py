"""A batch baked into a reshape becomes free again, or stays where the number is none."""

from typing import Any

import pytest

from migrate.graph import Builder
from migrate.graph.batch import reshape

CASES = [
    # input sizes after the batch, target, declared batch, resulting shape
    ((4, 31), [1, 124], 1, ["batch", 124]),
    ((4, 31), [1, -1], 1, ["batch", 124]),
    ((4, 31), [-1, 124], 1, ["batch", 124]),
    ((255, 52, 52), [1, 3, 85, 52, 52], 1, ["batch", 3, 85, 52, 52]),
    ((4, 6), [4, 24], 4, ["batch", 24]),
    ((12, 8), [12, 1, 8], 1, ["reshape.shape[0]", 1, 8]),
]


@pytest.mark.parametrize(("rest", "target", "declared", "expected"), CASES)
def test_a_baked_batch_is_freed(rest: tuple[int, ...], target: list[int], declared: int, expected: list[Any]) -> None:
    b = Builder()
    b.declared_batch = declared
    x = b.input("x", "float32", [("batch", (2, 3, 5)), *rest])
    b.graph.batch = x.shape[0]
    y = reshape(b, x, target)
    assert [str(s) for s in y.shape] == [str(s) for s in expected]


def test_freeing_is_reported_with_its_place() -> None:
    b = Builder()
    x = b.input("x", "float32", [("batch", (2, 3, 5)), 4, 31])
    b.graph.batch = x.shape[0]
    with b.at((), "Reshape_7"):
        reshape(b, x, [1, 124])
    (note,) = b.graph.notes
    assert (note.code, note.where) == ("MIG301", "Reshape_7")


def test_flattening_the_last_axes_is_written_as_such() -> None:
    b = Builder()
    x = b.input("x", "float32", [("batch", (2, 3, 5)), 4, 31])
    assert reshape(b, x, [x.shape[0], -1]).node.op.name == "flatten"
    assert reshape(b, x, [x.shape[0], 31, 4]).node.op.name == "reshape"
    assert reshape(b, x, [x.shape[0], 4, 31]) is x
