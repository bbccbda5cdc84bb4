"""Faults that users of other converters reported, one row each: what is written here is right, or refused by name.

The number is that of the project's collection of public reports; where a whole table elsewhere is about a kind (each padding,
each Resize, each schema revision, hostile files), a row here stands for the report itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from torch import nn

import migrate
from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.agreement import agree
from tests.migrate.frontends.onnx.built import conv, dropped, ints, merged, normalised, pooled, product, reshaped, tied
from tests.onnx_files import ConvNet, build, export, floats, mlp, node, positive, weight

Model = Callable[[], onnx.ModelProto]


def image(*nodes: Any, opset: int = 17, **weights: Any) -> onnx.ModelProto:
    """`c = Conv(x, C)` with 4 channels, and what follows."""
    first = node("Conv", ["x", "C"], ["c"])
    return build([first, *nodes], {"C": weight(4, 3, 1, 1), **weights}, inputs=("x", ("N", 3, 8, 8)), opset=opset)


def resized(**attributes: Any) -> onnx.ModelProto:
    scales = np.array([1, 1, 2, 2], dtype=np.float32)
    return image(node("Resize", ["c", "", "scales"], ["y"], **attributes), scales=scales)


def gru(reset: int, direction: str = "forward") -> onnx.ModelProto:
    d = 2 if direction == "bidirectional" else 1
    weights = {"W": weight(d, 9, 4), "R": weight(d, 9, 3, seed=1), "B": weight(d, 18, seed=2)}
    read = node("GRU", ["x", "W", "R", "B"], ["y"], hidden_size=3, linear_before_reset=reset, direction=direction)
    return build([read], weights, inputs=("x", (5, "N", 4)))


def branch(name: str, *nodes: Any) -> onnx.GraphProto:
    return helper.make_graph(list(nodes), name, [], [floats("z", None)])


def conditional(condition: Any) -> onnx.ModelProto:
    """Both branches use what lies around them."""
    branches = {
        "then_branch": branch("then", node("Mul", ["h", "s"], ["z"])),
        "else_branch": branch("else", node("Neg", ["h"], ["z"])),
    }
    if condition is not None:
        chosen = [node("If", ["c"], ["y"], **branches)]
        return product(*chosen, s=weight(6), c=np.array(condition))
    chosen = [
        node("ReduceSum", ["x"], ["total"], keepdims=0),
        node("Greater", ["total", "zero"], ["c"]),
        node("If", ["c"], ["y"], **branches),
    ]
    return product(*chosen, s=weight(6), zero=np.array(0, dtype=np.float32))


def repeated() -> onnx.ModelProto:
    """A Loop that multiplies by one weight at each step."""
    state, count, go = (helper.make_tensor_value_info(n, t, s) for n, t, s in (
        ("state", TensorProto.FLOAT, None), ("i", TensorProto.INT64, []), ("go", TensorProto.BOOL, [])
    ))  # fmt: skip
    same = helper.make_tensor_value_info("same", TensorProto.BOOL, [])
    body = helper.make_graph(
        [node("Identity", ["go"], ["same"]), node("MatMul", ["state", "V"], ["p"]), node("Tanh", ["p"], ["next"])],
        "body", [count, go, state], [same, floats("next", None)],
    )  # fmt: skip
    loop = node("Loop", ["trips", "", "h"], ["y"], body=body)
    return product(loop, trips=np.array(3, dtype=np.int64), V=weight(6, 6))


def quantised(axis: int | None) -> onnx.ModelProto:
    """A convolution whose weight is stored in 8 bits, with one scale or one for each channel."""
    scale = np.array(0.02, dtype=np.float32) if axis is None else positive(4) / np.float32(50)
    stored = np.random.default_rng(0).integers(-128, 128, (4, 3, 3, 3)).astype(np.int8)
    zero = np.zeros(scale.shape, dtype=np.int8)
    attributes = {} if axis is None else {"axis": axis}
    nodes = [
        node("DequantizeLinear", ["Q", "scale", "zero"], ["C"], **attributes),
        node("Conv", ["x", "C"], ["y"]),
    ]
    return build(nodes, {"Q": stored, "scale": scale, "zero": zero}, inputs=("x", ("N", 3, 8, 8)))


def shared_head() -> onnx.ModelProto:
    """One convolution at five levels, as the head of a detector."""
    sizes = [node("Relu", ["x"], ["l0"])]
    sizes += [node("MaxPool", [f"l{i}"], [f"l{i + 1}"], kernel_shape=[2, 2], strides=[2, 2]) for i in range(4)]
    heads = [node("Conv", [f"l{i}", "C"], [f"y{i}"]) for i in range(5)]
    outputs = [f"y{i}" for i in range(5)]
    return build([*sizes, *heads], {"C": weight(4, 3, 1, 1)}, inputs=("x", ("N", 3, 32, 32)), outputs=outputs)


def named(*names: str) -> onnx.ModelProto:
    """Two layers with these names of weights."""
    nodes = [node("MatMul", ["x", names[0]], ["h"], name=""), node("MatMul", ["h", names[1]], ["y"], name="")]
    return build(nodes, {names[0]: weight(8, 8), names[1]: weight(8, 8, seed=1)})


def half() -> onnx.ModelProto:
    nodes = [node("Cast", ["h"], ["k"], to=TensorProto.FLOAT16), node("Cast", ["k"], ["y"], to=TensorProto.FLOAT)]
    return product(*nodes)


def axes(op: str, opset: int) -> onnx.ModelProto:
    given: dict[str, Any] = {} if opset >= 13 else {"axes": [1]}
    return product(node(op, ["h", "axes"] if opset >= 13 else ["h"], ["y"], **given), opset=opset, axes=ints(1))


RIGHT: dict[str, Model] = {
    "2 a MatMul by an initializer": mlp,
    "7 a batch fixed at 1": lambda: mlp(batch=1),
    "13 a Dropout of one input": lambda: dropped(12, None),
    "23 batch norm in training": lambda: normalised(["y", "mean", "var"], training_mode=1),
    "26 batch norm of several samples": lambda: normalised(["y"]),
    "27 merged vectors": lambda: merged(positive(4), weight(4)),
    "30 a head used five times": shared_head,
    "37 dots and slashes in names": lambda: named("a.b/c::weight", "onnx::MatMul_1430"),
    "37 names that collide once cleaned": lambda: named("a.b", "a_b"),
    "P code in names": lambda: named('x"); import os#', "class"),
    "38 reshape to [1,48]": lambda: reshaped((1, 48), (1, 4, 3, 4)),
    "39 reshape to [1,-1]": lambda: reshaped((1, -1), (1, 4, 3, 4)),
    "40 reshape to [1,2,2,3,4], batch free": lambda: reshaped((1, 2, 2, 3, 4), ("N", 4, 3, 4)),
    "49 SAME_UPPER": lambda: conv(auto_pad="SAME_UPPER", strides=[2, 2]),
    "49 VALID": lambda: conv(auto_pad="VALID"),
    "49 SAME with gaps of one": lambda: image(
        node("Conv", ["c", "D"], ["y"], auto_pad="SAME_UPPER", strides=[2, 2]), D=weight(5, 4, 1, 1)
    ),
    "50 uneven pads": lambda: conv(pads=[0, 0, 1, 1]),
    "51 average pool, uneven pads": lambda: pooled("AveragePool", pads=[0, 0, 1, 1]),
    "53 padding is not counted": lambda: pooled("AveragePool", pads=[1, 1, 1, 1]),
    "54 max pool pads with nothing": lambda: pooled("MaxPool", auto_pad="SAME_LOWER"),
    "56 nearest, half_pixel, round_prefer_ceil": lambda: resized(
        mode="nearest", coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_ceil"
    ),
    "56 linear, asymmetric": lambda: resized(mode="linear", coordinate_transformation_mode="asymmetric"),
    "57 pytorch_half_pixel": lambda: resized(mode="linear", coordinate_transformation_mode="pytorch_half_pixel"),
    "59 GRU, reset before the product": lambda: gru(0),
    "58 GRU, reset after the product": lambda: gru(1),
    "60 GRU in both directions": lambda: gru(1, "bidirectional"),
    "61 Dropout of opset 7": lambda: dropped(7),
    "61 batch norm of opset 7": lambda: normalised(["y"], 7),
    "61 Transpose of opset 21": lambda: product(node("Transpose", ["h"], ["y"], perm=[0, 1]), opset=21),
    "62 layer norm": lambda: product(node("LayerNormalization", ["h", "s"], ["y"]), s=positive(6)),
    "63 Einsum": lambda: product(node("Einsum", ["h", "V"], ["y"], equation="ij,jk->ik"), V=weight(6, 3)),
    "64 Slice of opset 11 is not that of 9": lambda: product(
        node("Slice", ["h", "from", "to", "axis"], ["y"]), opset=11, **{"from": ints(1), "to": ints(4), "axis": ints(1)}
    ),
    "65 GroupNormalization, a scale for each channel": lambda: image(
        node("GroupNormalization", ["c", "s", "b"], ["y"], num_groups=2), opset=21, s=positive(4), b=weight(4)
    ),
    "65 GroupNormalization, a scale for each group": lambda: image(
        node("GroupNormalization", ["c", "s", "b"], ["y"], num_groups=2), opset=18, s=positive(2), b=weight(2)
    ),
    "66 If on a constant": lambda: conditional(True),
    "66, 68 If on data, with what lies around": lambda: conditional(None),
    "67 Loop": repeated,
    "75 ReduceSum, axes as an attribute": lambda: axes("ReduceSum", 11),
    "75 ReduceSum, axes as an input": lambda: axes("ReduceSum", 13),
    "78 a dequantised weight": lambda: quantised(None),
    "79 a weight dequantised by channel": lambda: quantised(0),
    "80 flatten after a convolution": lambda: image(
        node("Flatten", ["c"], ["f"]), node("MatMul", ["f", "W"], ["y"]), W=weight(256, 3)
    ),
}
REFUSED: dict[str, tuple[str, Model]] = {
    "49 SAME where engines start elsewhere": (
        "MIG203", lambda: image(node("Conv", ["c", "D"], ["y"], auto_pad="SAME_UPPER", strides=[4, 4]), D=weight(5, 4, 1, 1)),
    ),
    "A nothing to train": ("MIG313", lambda: build([node("Relu", ["x"], ["y"])], {})),
    "87 NonMaxSuppression": (
        "MIG201", lambda: product(node("NonMaxSuppression", ["h", "h"], ["y"])),
    ),
    "65 an operator that no schema has": ("MIG201", lambda: product(node("Mystery", ["h"], ["y"]))),
}  # fmt: skip


@pytest.mark.parametrize("report", RIGHT)
def test_numbers_are_the_sources_at_every_batch_and_everything_trains(report: str) -> None:
    _, module = agree(RIGHT[report]())
    trained = list(module.parameters())
    assert trained and all(p.is_floating_point() and p.requires_grad for p in trained)


@pytest.mark.parametrize("report", REFUSED)
def test_what_cannot_be_right_is_refused_by_name(report: str) -> None:
    code, model = REFUSED[report]
    with pytest.raises(MigrateError) as caught:
        migrate.load(model())
    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize(
    ("report", "model", "count"),
    [
        ("30 one head, five uses", shared_head, 1),
        ("4 one weight in two layers", tied, 1),
        ("31 two weights stay two", lambda: named("a.b", "a_b"), 2),
        ("2 weights and biases of MatMul and Add", mlp, 3),
        ("10 statistics are not trained", lambda: normalised(["y"]), 3),
        ("78 a scale is folded into its weight", lambda: quantised(0), 1),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_as_many_parameters_as_the_source_learns(report: str, model: Model, count: int) -> None:
    assert len(list(migrate.to_module(model()).parameters())) == count, report


def test_11_14_an_export_in_training_keeps_norm_and_dropout() -> None:
    module = migrate.to_module(export(ConvNet(), (torch.randn(2, 1, 6, 6),), training=True))
    kinds = {type(m) for m in module.modules()}
    assert {nn.BatchNorm2d, nn.Dropout} <= kinds


def test_68_both_branches_train() -> None:
    module = migrate.to_module(conditional(None))
    for sign in (1, -1):
        module.zero_grad()
        module(torch.full((2, 8), float(sign))).sum().backward()
        assert any(p.grad is not None and bool(p.grad.any()) for p in module.parameters())


def test_82_a_cast_between_activations_does_not_fix_their_type() -> None:
    """It falls away, and with it the rounding: the package is trained in whatever precision is asked for."""
    module = migrate.to_module(half()).double()
    x = torch.randn(3, 8, dtype=torch.float64)
    torch.testing.assert_close(module(x), x @ torch.from_numpy(weight(8, 6)).double())
