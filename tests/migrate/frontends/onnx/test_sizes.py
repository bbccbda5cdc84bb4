"""Free sizes: their names, which of them is the batch, and the samples that are tried."""

from __future__ import annotations

import inspect
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch

from migrate.errors import Exit, MigrateError
from migrate.frontends.onnx import load_onnx, open_onnx
from migrate.frontends.onnx.sizes import (
    BATCH,
    FREE,
    LARGE,
    SMALL,
    UNEVEN,
    batch_symbol,
    candidates,
    guessed_batch,
    input_sizes,
)
from migrate.graph.interpret import interpret
from migrate.verify.run import verify
from tests.onnx_files import build, floats, node, weight


def model(*shapes: Any) -> Any:
    """One input for each shape, all added."""
    inputs = [floats(f"in{i}", shape) for i, shape in enumerate(shapes)]
    return open_onnx(build([node("Sum", [v.name for v in inputs], ["y"])], {}, inputs=inputs))


def shapes(*given: Any) -> list[tuple[int | str, ...]]:
    return [item.shape for item in input_sizes(model(*given), {})]


@pytest.mark.parametrize(
    ("declared", "named"),
    [
        (("N", 3, "H", "W"), ("N", 3, "H", "W")),
        ((None, 3, None, None), ("batch", 3, "height", "width")),
        (("?", 3, "?", "?"), ("batch", 3, "height", "width")),
        (("unk__6", 3, 4), ("batch", 3, 4)),
        ((-1, 8), ("batch", 8)),
        ((0, 8), ("batch", 8)),
        ((1, 3, 4, 4), (1, 3, 4, 4)),
        ((None, 1, None), ("batch", 1, "length")),
        ((None, None), ("batch", "in0_1")),
        (("batch_size", "2*seq+1"), ("batch_size", "in0_1")),
        ((), ()),
    ],
)
def test_sizes_are_named(declared: Any, named: Any) -> None:
    assert shapes(declared) == [named]


def test_one_name_is_one_size() -> None:
    assert shapes(("N", "L"), ("N", "L")) == [("N", "L"), ("N", "L")]
    assert shapes((None, 3, None, None), (None, 3, None, None))[1][0] == "batch"


@pytest.mark.parametrize(
    ("declared", "batch"),
    [
        ([("N", 3)], ("N", 1)),
        ([(1, 3)], ("batch", 1)),
        ([(4, 3), (4, 5)], ("batch", 4)),
        ([(4, 3), (2, 5)], (None, 1)),
        ([(8,)], (None, 1)),
        ([(4, 3), ()], ("batch", 4)),
        ([(2, 3), ("N", 5)], ("N", 1)),
        ([("time", "batch", 5)], ("batch", 1)),
        ([("time", 5), (2, "Batch_Size", 5)], ("Batch_Size", 1)),
    ],
)
def test_the_batch(declared: Any, batch: Any) -> None:
    assert batch_symbol(input_sizes(model(*declared), {})) == batch


@pytest.mark.parametrize(
    ("declared", "warned"),
    [
        ([(None, None, 5)], True),
        ([("seq", "samples", 5)], True),
        ([("unk__1", "unk__2", 5)], True),
        ([("time", "batch", 5)], False),
        ([("N", "length", 5)], False),
        ([(None, 3, None)], False),
        ([(None, None)], True),
        ([("samples", "seq_len")], False),
        ([(None, None, 5), ("batch", 3)], False),
        ([(1, None, 5)], False),
    ],
)
def test_a_batch_that_is_guessed_is_told(declared: Any, warned: bool) -> None:
    assert [d.code for d in guessed_batch(input_sizes(model(*declared), {}))] == ["MIG306"] * warned


def test_a_time_first_source_is_imported_with_a_warning() -> None:
    graph = load_onnx(build([node("Relu", ["x"], ["y"])], {}, inputs=[floats("x", (None, None, 5))]))
    (note,) = graph.notes
    assert (note.code, note.severity, note.where) == ("MIG306", "warning", "x") and graph.batch_axes == {"x": 0}
    fixed = load_onnx(build([node("Relu", ["x"], ["y"])], {}, inputs=[floats("x", (None, None, 5))]), {"x": (4, 2, 5)})
    assert fixed.notes == []


def test_samples_are_told_apart() -> None:
    """No two of them are equal, none is 1, and no size is a multiple of another at every assignment."""
    for table in (UNEVEN, FREE, LARGE, SMALL):
        for one, other in combinations((BATCH, *table), 2):
            assert one != other and min(*one, *other) > 1
            ratios = {a / b for a, b in zip(one, other, strict=True)}
            assert len(ratios) > 1


def made_of(sample: tuple[int, ...], depth: int = 2) -> set[tuple[int, ...]]:
    """What strides, kernels and padding may make of a size, at each assignment."""
    made = {sample}
    for _ in range(depth):
        made |= {
            tuple((s + more) // stride for s in one) for one in made for more in range(-3, 4) for stride in (1, 2, 3, 4)
        }
    return {one for one in made if min(one) > 0}


@pytest.mark.parametrize("sample", [sample for table in (UNEVEN, FREE, LARGE, SMALL) for sample in table])
def test_no_size_becomes_the_batch(sample: tuple[int, ...]) -> None:
    assert BATCH not in made_of(sample)
    for stride in (8, 16, 32):
        assert BATCH not in {tuple((s + more) // stride for s in sample) for more in range(-31, 32)}


def test_the_batch_is_not_sampled_where_it_is_verified() -> None:
    batches = inspect.signature(verify).parameters["batches"].default
    assert batches and set(batches).isdisjoint(BATCH)


def test_half_of_a_size_is_rounded_as_the_source_does() -> None:
    """At even sizes alone, a size less twice its half would be taken for 0."""
    nodes = [
        node("MaxPool", ["x"], ["half"], kernel_shape=[2], strides=[2]),
        node("Concat", ["half", "half"], ["twice"], axis=2),
        node("Shape", ["x"], ["full"], start=2),
        node("Shape", ["twice"], ["even"], start=2),
        node("Sub", ["full", "even"], ["rest"]),
        node("Concat", ["none", "rest"], ["pads"], axis=0),
        node("Pad", ["twice", "pads"], ["padded"]),
        node("Add", ["x", "padded"], ["y"]),
    ]
    graph = load_onnx(build(nodes, {"none": np.zeros(5, np.int64)}, inputs=("x", ("batch", 3, "length"))))
    x = torch.arange(2 * 3 * 7.0).reshape(2, 3, 7)
    (y,) = interpret(graph, x)
    pooled = torch.nn.functional.max_pool1d(x, 2)
    assert torch.equal(y, x + torch.nn.functional.pad(torch.cat([pooled, pooled], 2), (0, 1)))


def test_a_short_table_of_positions_leaves_the_length_free() -> None:
    nodes = [
        node("Shape", ["x"], ["length"], start=1, end=2),
        node("Slice", ["table", "zero", "length", "zero"], ["positions"]),
        node("Add", ["x", "positions"], ["y"]),
    ]
    zero = np.zeros(1, np.int64)
    graph = load_onnx(build(nodes, {"table": weight(40, 8), "zero": zero}, inputs=("x", ("batch", "length", 8))))
    assert not graph.notes
    assert interpret(graph, torch.zeros(2, 9, 8))[0].shape == (2, 9, 8)


def test_candidates_go_from_free_to_fixed() -> None:
    plans = list(candidates(["N", "H", "W"], "N"))
    assert all(plan["N"] == BATCH for plan in plans)
    assert all(isinstance(size, tuple) for size in plans[0].values())
    assert plans[-1]["H"] == plans[-1]["W"] and isinstance(plans[-1]["H"], int)
    assert len(list(candidates(["N"], "N"))) == 1


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"nothing": (2, 3)}, "MIG111"),
        ({"x": (2, 8, 1)}, "MIG112"),
        ({"x": (2, 9)}, "MIG112"),
        ({"W": (8, 6)}, "MIG111"),
    ],
    ids=["name", "rank", "size", "weight"],
)
def test_a_shape_that_cannot_be_is_refused(given: dict[str, tuple[int, ...]], code: str) -> None:
    small = build([node("MatMul", ["x", "W"], ["y"])], {"W": weight(8, 6)})
    with pytest.raises(MigrateError, match=code) as caught:
        load_onnx(small, given)
    assert caught.value.status == Exit.USAGE


def test_a_given_shape_fixes_all_sizes() -> None:
    small = build([node("MatMul", ["x", "W"], ["y"])], {"W": weight(8, 6)})
    graph = load_onnx(small, {"x": (3, 8)})
    assert graph.inputs[0].shape == (3, 8) and graph.batch is None


def test_a_shape_that_is_not_declared_must_be_given() -> None:
    small = build([node("MatMul", ["x", "W"], ["y"])], {"W": weight(8, 6)}, inputs=[floats("x", None)])
    with pytest.raises(MigrateError, match=r"MIG109.*--input") as caught:
        load_onnx(small)
    assert caught.value.status == Exit.UNSUPPORTED
    assert load_onnx(small, {"x": (3, 8)}).outputs[0].shape == (3, 6)


def test_a_size_that_the_model_fixes_inside_is_told() -> None:
    """The height must shrink to 1: nothing declares that, and it is found by trying."""
    nodes = [
        node("Conv", ["x", "C"], ["c"], strides=[32, 1]),
        node("Squeeze", ["c", "axis"], ["s"]),
        node("Relu", ["s"], ["y"]),
    ]
    weights = {"C": weight(4, 3, 32, 1), "axis": np.array([2], dtype=np.int64)}
    graph = load_onnx(build(nodes, weights, inputs=("x", (None, 3, None, None))))
    (note,) = graph.notes
    assert (note.code, note.severity) == ("MIG303", "warning") and "height" in note.what and note.where == "Squeeze_s"
