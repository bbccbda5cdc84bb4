"""A batch baked into a reshape becomes free again, or stays where the number is none."""

from typing import Any

import pytest

from migrate.graph import Builder
from migrate.graph.batch import check_batch, reshape

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


MOVED = [
    # the input's shape, target, declared batch, resulting shape: as in attention with the time first, and windows
    ((4, "N", 8), [4, 8, 4], 4, ["4", "2*batch", "4"]),
    ((5, "N", 8), [5, 2, 4], 1, ["5", "2*batch", "4"]),
    ((5, "2N", 4), [5, 8], 1, ["5*batch", "8"]),
    (("6N", 8), [6, 1, 8], 1, ["6", "batch", "8"]),
    (("16N", 8), [1, 4, 4, -1], 1, ["batch", "4", "4", "8"]),
    (("2N", 5, 4), [1, 2, 5, 4], 1, ["batch", "2", "5", "4"]),
    ((5, "N", 8), [5, -1, 4], 1, ["5", "2*batch", "4"]),
]


@pytest.mark.parametrize(("shape", "target", "declared", "expected"), MOVED)
def test_the_batch_stays_at_its_place(shape: Any, target: list[int], declared: int, expected: list[str]) -> None:
    b = Builder()
    b.declared_batch = declared
    b.graph.batch = b.input("i", "float32", [("batch", (2, 3, 5))]).shape[0]
    times = [int(s.strip("N") or 1) if isinstance(s, str) else 0 for s in shape]
    sizes = [(str(s), tuple(n * k for n in (2, 3, 5))) if k else s for s, k in zip(shape, times, strict=True)]
    y = reshape(b, b.input("x", "float32", sizes), target)
    batches = {(2 * k, 3 * k, 5 * k): f"{k}*batch" if k > 1 else "batch" for k in range(1, 9)}
    found = [batches.get(getattr(s, "values", ()), str(s)) for s in y.shape]
    assert found == expected


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


@pytest.mark.parametrize(("batch_first", "codes"), [(False, ["MIG307"]), (True, [])])
def test_a_batch_along_which_a_recurrent_layer_walks_is_said(batch_first: bool, codes: list[str]) -> None:
    b = Builder()
    x = b.input("x", "float32", [("frames", (3, 4, 7)), 1, 8])
    b.graph.batch = x.shape[0]
    rows = x.shape[0] if batch_first else 1
    weights = tuple(b.full(shape, 0.1) for shape in ((16, 8), (16, 4)))
    y, _, _ = b.lstm(x, (b.full((1, rows, 4), 0.0),) * 2, weights, False, 1, 0.0, False, False, batch_first)
    b.graph.outputs.append(y)
    assert [note.code for note in check_batch(b.graph).notes] == codes
