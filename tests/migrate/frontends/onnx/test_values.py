"""Values beside tensors, and conditions that are known."""

from __future__ import annotations

import pytest

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import Unsupported
from migrate.frontends.onnx.values import Nothing, Sequence, known_truth, only_sequence


def test_the_truth_of_numbers_and_sizes_is_known_and_that_of_data_is_not() -> None:
    b = OnnxBuilder()
    x = b.input("x", "float32", [("batch", (2, 3, 5))])
    assert known_truth(b, b.static(0, "int64")) is False
    assert known_truth(b, b.static(x.shape[0], "int64")) is True
    assert known_truth(b, b.gt(b.sum(x), 0.0)) is None


def test_a_sequence_has_the_rank_of_its_items() -> None:
    b = OnnxBuilder()
    x = b.input("x", "float32", [2, 3])
    assert (Sequence((x,)).rank, Sequence(()).rank, Nothing().rank) == (2, 0, 0)
    assert only_sequence(Sequence((x,))).items == (x,)
    with pytest.raises(Unsupported, match="sequence"):
        only_sequence(x)
