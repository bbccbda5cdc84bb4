"""Specifications: shapes, draws, and the user's faults."""

import pytest
import torch

from runtime.package import PackageError, TensorSpec


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (TensorSpec(name="x", shape=("batch", 3, "time")), (4, 3, 7)),
        (TensorSpec(name="x", shape=(2, 1, 5), batch_axis=1), (2, 4, 5)),
        (TensorSpec(name="x", shape=(2, "time"), batch_axis=None), (2, 7)),
    ],
)
def test_sizes(spec, expected):
    assert spec.sizes({"time": 7}, 4) == expected


def test_a_free_size_without_a_value_is_an_error():
    with pytest.raises(KeyError, match="width"):
        TensorSpec(name="x", shape=("batch", "width")).sizes({}, 2)


@pytest.mark.parametrize(("dtype", "high", "least", "most"), [("int64", 5, 0, 4), ("bool", None, 0, 1)])
def test_integers_stay_below_the_bound(dtype, high, least, most):
    drawn = TensorSpec(name="x", shape=("batch",), dtype=dtype, high=high).draw({}, 200, torch.Generator())
    assert (drawn.min(), drawn.max(), drawn.dtype) == (least, most, getattr(torch, dtype))


def test_equal_generators_draw_equal_tensors():
    spec = TensorSpec(name="x", shape=("batch", 3), dtype="float16")
    first, second = (spec.draw({}, 2, torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(first, second) and first.dtype == torch.float16


def test_an_error_has_an_exit_status():
    assert (PackageError("wrong").status, PackageError("unreadable", status=3).status) == (2, 3)


def test_integers_that_a_branch_depends_on_are_drawn_among_its_values() -> None:
    drawn = TensorSpec(name="x", shape=("batch",), dtype="int64", choices=(7, 9)).draw({}, 200, torch.Generator())
    assert set(drawn.tolist()) == {7, 9} and drawn.dtype == torch.int64
