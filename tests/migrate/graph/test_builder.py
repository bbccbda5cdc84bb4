"""Building: sizes fold, weights absorb, constants become numbers, wrong shapes are told."""

from typing import Any

import numpy as np
import pytest
import torch

from migrate.graph import Builder, Dim, InferenceError, Step, Value, Weight, interpret
from migrate.graph.check import check

SHAPE: list[Any] = [("batch", (2, 3, 5)), 3, ("height", (64, 96, 160)), 32]


def make_weight(b: Builder, name: str, *shape: int) -> Value:
    array = np.random.default_rng(0).standard_normal(shape).astype("float32")
    return b.weight(name, "float32", Weight(source=name, read=lambda: array, source_shape=shape), shape)


def test_shape_arithmetic_leaves_no_node() -> None:
    b = Builder()
    x = b.input("x", "float32", SHAPE)
    sizes = b.static(list(x.shape), "int64")
    batch = b.getitem(sizes, slice(0, 1))
    half = b.floor_div(b.getitem(sizes, 2), b.static(2, "int64"))
    target = b.cat([batch, b.unsqueeze(half, 0), b.static([-1], "int64")], dim=0)
    assert b.graph.nodes == []
    assert [str(s) for s in target.static] == ["batch", "height // 2", "-1"]


def test_a_root_of_a_whole_number_is_no_whole_number() -> None:
    b = Builder()
    root = b.sqrt(b.static(128, "int64"))
    assert root.dtype == "float32"
    b.graph.outputs.append(root)
    assert float(interpret(b.graph)[0]) == pytest.approx(128**0.5)


def test_rearranging_a_weight_changes_the_weight() -> None:
    b = Builder()
    w = make_weight(b, "w", 3, 4)
    turned = b.permute(w, (1, 0))
    assert b.graph.nodes == []
    assert turned.shape == (4, 3)
    assert turned.weight.steps == (Step("permute", (1, 0)),)
    assert b.permute(turned, (1, 0)).weight.steps == ()


def test_a_constant_of_rank_0_is_a_number_and_one_of_rank_1_is_not() -> None:
    b = Builder()
    x = b.input("x", "float32", SHAPE)
    two = b.weight("two", "float32", Weight(source="two", read=lambda: np.array(2.0), source_shape=()), ())
    assert b.mul(x, two).node.args == (x, 2.0)
    scale = make_weight(b, "scale", 1)
    assert b.mul(x, scale).node.args == (x, scale)


def test_an_unknown_size_is_named_by_the_first_axis_that_has_it() -> None:
    b = Builder()
    x = b.input("x", "float32", SHAPE)
    y = b.conv2d(x, make_weight(b, "w", 8, 3, 3, 3), None, stride=2, padding=1)
    assert y.shape[0] is x.shape[0]
    assert str(y.shape[2]) == "conv2d.shape[2]"
    assert b.relu(y).shape[2] is y.shape[2]


def test_a_wrong_shape_is_told_with_torchs_own_words() -> None:
    b = Builder()
    x = b.input("x", "float32", SHAPE)
    with pytest.raises(InferenceError, match="channel"):
        b.conv2d(x, make_weight(b, "w", 8, 4, 3, 3))


def test_an_undeclared_op_is_refused() -> None:
    with pytest.raises(AttributeError, match="no op is declared as 'frobnicate'"):
        Builder().frobnicate()


def test_sizes_used_as_a_tensor_become_one_at_run_time() -> None:
    b = Builder()
    x = b.input("x", "float32", SHAPE)
    sizes = b.static([x.shape[0], 7], "int64")
    b.graph.outputs = [b.tensor(b.mul(sizes, 2))]
    check(b.graph)
    (out,) = interpret(b.graph, torch.zeros(9, 3, 8, 32))
    assert out.tolist() == [18, 14]


def test_the_graph_means_what_torch_means_at_sizes_never_sampled() -> None:
    b = Builder()
    x = b.input("x", "float32", SHAPE)
    w = make_weight(b, "w", 8, 3, 3, 3)
    y = b.relu(b.conv2d(x, w, None, stride=2, padding=1))
    z = b.reshape(y, (y.shape[0], 8, y.shape[2] * y.shape[3]))
    b.graph.outputs = [b.mean(z, dim=-1)]
    image = torch.randn(7, 3, 21, 32)
    expected = torch.conv2d(image, torch.from_numpy(w.weight.array()), stride=2, padding=1).relu().flatten(2).mean(-1)
    assert torch.equal(interpret(b.graph, image)[0], expected)
    assert isinstance(z.shape[2], Dim)
