"""Whole models through the importer: what converters get wrong, each held against the source's engine at batches 2, 3 and 5."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import torch
from torch import nn

import migrate
from migrate.errors import Exit, MigrateError
from tests.migrate.frontends.onnx.agreement import agree
from tests.onnx_files import (
    ConvNet,
    build,
    conv_net,
    export,
    floats,
    gpt,
    mlp,
    node,
    positive,
    tagger,
    two_heads,
    weight,
)

IMAGE = ("x", ("N", 3, 9, 8))
NORM = {"s": positive(4), "b": weight(4, seed=1), "m": weight(4, seed=2), "v": positive(4, seed=3)}


def ints(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


def product(*then: Any, outputs: Any = ("y",), opset: int = 17, **weights: Any) -> onnx.ModelProto:
    """`h = MatMul(x, W)` and what follows."""
    first = node("MatMul", ["x", "W"], ["h"])
    return build([first, *then], {"W": weight(8, 6), **weights}, outputs=outputs, opset=opset)


def tied() -> onnx.ModelProto:
    nodes = [node("MatMul", ["x", "W"], ["h"]), node("Relu", ["h"], ["r"]), node("MatMul", ["r", "W"], ["y"])]
    return build(nodes, {"W": weight(8, 8)})


def reshaped(target: tuple[int, ...], shape: tuple[Any, ...]) -> onnx.ModelProto:
    """A convolution, a Reshape to a constant, and a linear layer where the result is a matrix."""
    last = node("MatMul", ["r", "W"], ["y"]) if len(target) == 2 else node("Relu", ["r"], ["y"])
    nodes = [node("Conv", ["x", "C"], ["c"]), node("Reshape", ["c", "t"], ["r"]), last]
    weights = {"C": weight(4, 4, 1, 1), "t": ints(*target)} | ({"W": weight(48, 3)} if len(target) == 2 else {})
    return build(nodes, weights, inputs=("x", shape))


def normalised(outputs: list[str], opset: int = 15, **attributes: Any) -> onnx.ModelProto:
    nodes = [
        node("Conv", ["x", "C"], ["c"]),
        node("BatchNormalization", ["c", "s", "b", "m", "v"], outputs, name="bn", **attributes),
    ]
    return build(nodes, {"C": weight(4, 3, 3, 3), **NORM}, inputs=IMAGE, opset=opset)


def merged(scale: Any, bias: Any) -> onnx.ModelProto:
    """Two normalisations whose scales and variances are one tensor, and whose biases and means are another."""
    nodes = [
        node("Conv", ["x", "C"], ["c"]),
        node("BatchNormalization", ["c", "s", "b", "b", "s"], ["h"]),
        node("Relu", ["h"], ["r"]),
        node("BatchNormalization", ["r", "s", "b", "b", "s"], ["y"]),
    ]
    return build(nodes, {"C": weight(4, 3, 3, 3), "s": scale, "b": bias}, inputs=IMAGE)


def dropped(opset: int, ratio: float | None = 0.3, **attributes: Any) -> onnx.ModelProto:
    """A Dropout whose rate is an attribute before opset 12 and an input since."""
    if opset < 12:
        given = {} if ratio is None else {"ratio": ratio}
        return product(node("Dropout", ["h"], ["y"], **given, **attributes), opset=opset)
    inputs = ["h"] if ratio is None else ["h", "p"]
    weights = {} if ratio is None else {"p": np.array(ratio, dtype=np.float32)}
    return product(node("Dropout", inputs, ["y"], **attributes), opset=opset, **weights)


def conv(**attributes: Any) -> onnx.ModelProto:
    return build([node("Conv", ["x", "C"], ["y"], **attributes)], {"C": weight(4, 3, 3, 3)}, inputs=IMAGE)


def pooled(op: str, **attributes: Any) -> onnx.ModelProto:
    """A pooling of numbers that are all negative, where padding with zero would show."""
    nodes = [
        node("Conv", ["x", "C"], ["c"]),
        node("Exp", ["c"], ["e"]),
        node("Neg", ["e"], ["n"]),
        node(op, ["n"], ["y"], kernel_shape=[3, 3], strides=[2, 2], **attributes),
    ]
    return build(nodes, {"C": weight(4, 3, 1, 1)}, inputs=IMAGE)


def softmax(opset: int) -> onnx.ModelProto:
    """Before opset 13 a softmax runs over all axes from `axis` on."""
    nodes = [node("Conv", ["x", "C"], ["c"]), node("Softmax", ["c"], ["z"], axis=1), node("Relu", ["z"], ["y"])]
    return build(nodes, {"C": weight(4, 3, 3, 3)}, inputs=IMAGE, opset=opset)


def split() -> onnx.ModelProto:
    return product(node("Split", ["h"], ["a", "y"], axis=1, num_outputs=2), opset=18)


AGREEING: dict[str, Any] = {
    "mlp": mlp,
    "mlp opset 7": lambda: mlp(7),
    "mlp opset 24, unchanged schemas": lambda: mlp(24),
    "a fixed batch of 1": lambda: mlp(batch=1),
    "a fixed batch of 4": lambda: mlp(batch=4),
    "conv net in training": conv_net,
    "conv net, batch of 1 baked": lambda: export(ConvNet(), (torch.randn(1, 1, 6, 6),), free=False),
    "gpt": gpt,
    "tagger": tagger,
    "two heads": two_heads,
    "tied": tied,
    "reshape to [1,48], batch 1": lambda: reshaped((1, 48), (1, 4, 3, 4)),
    "reshape to [1,48], batch free": lambda: reshaped((1, 48), ("N", 4, 3, 4)),
    "reshape to [1,-1], batch 1": lambda: reshaped((1, -1), (1, 4, 3, 4)),
    "reshape to [0,-1], batch 1": lambda: reshaped((0, -1), (1, 4, 3, 4)),
    "reshape to [-1,48], batch 1": lambda: reshaped((-1, 48), (1, 4, 3, 4)),
    "reshape to [1,2,2,3,4], batch free": lambda: reshaped((1, 2, 2, 3, 4), ("N", 4, 3, 4)),
    "reshape to [3,48], batch 3": lambda: reshaped((3, 48), (3, 4, 3, 4)),
    "batch norm, opset 7": lambda: normalised(["y"], 7),
    "batch norm in training": lambda: normalised(["y", "mean", "var"], training_mode=1),
    "batch norm whose vectors were merged": lambda: merged(positive(4), weight(4)),
    "conv SAME_UPPER, stride 2": lambda: conv(auto_pad="SAME_UPPER", strides=[2, 2]),
    "conv SAME_LOWER, stride 2": lambda: conv(auto_pad="SAME_LOWER", strides=[2, 2]),
    "conv VALID": lambda: conv(auto_pad="VALID"),
    "conv, uneven pads": lambda: conv(pads=[0, 0, 1, 1]),
    "max pool SAME": lambda: pooled("MaxPool", auto_pad="SAME_UPPER"),
    "max pool, uneven pads": lambda: pooled("MaxPool", pads=[0, 1, 1, 0]),
    "average pool SAME": lambda: pooled("AveragePool", auto_pad="SAME_LOWER"),
    "average pool SAME, padding counted": lambda: pooled("AveragePool", auto_pad="SAME_UPPER", count_include_pad=1),
    "softmax 11": lambda: softmax(11),
    "softmax 13": lambda: softmax(13),
    "clip 6": lambda: product(node("Clip", ["h"], ["y"], min=-0.5, max=0.5), opset=6),
    "clip 11": lambda: product(node("Clip", ["h", "", "top"], ["y"]), opset=11, top=np.array(0.5, dtype=np.float32)),
    "slice 1": lambda: product(node("Slice", ["h"], ["y"], starts=[1], ends=[4], axes=[1]), opset=9),
    "slice 10": lambda: product(
        node("Slice", ["h", "from", "to", "axis"], ["y"]), opset=10, **{"from": ints(1), "to": ints(4), "axis": ints(1)}
    ),
    "reduce sum 11": lambda: product(node("ReduceSum", ["h"], ["y"], axes=[1], keepdims=1), opset=11),
    "reduce sum 13": lambda: product(node("ReduceSum", ["h", "axis"], ["y"]), opset=13, axis=ints(1)),
    "only the second output": split,
    "one value twice": lambda: product(node("Relu", ["h"], ["y"]), outputs=("y", "y")),
    "one value under two names": lambda: product(node("Identity", ["h"], ["y"]), outputs=("y", "h")),
    "an input": lambda: product(node("Relu", ["h"], ["y"]), outputs=(floats("x", ("batch", 8)), "y")),
    "an initializer": lambda: product(node("Relu", ["h"], ["y"]), outputs=("y", "W")),
    "outputs against the order of nodes": lambda: product(node("Relu", ["h"], ["y"]), outputs=("y", "h")),
    "nodes against their order": lambda: build(
        [node("Relu", ["h"], ["y"]), node("MatMul", ["x", "W"], ["h"])], {"W": weight(8, 6)}
    ),
    "a vector without a batch": lambda: build(
        [node("MatMul", ["x", "W"], ["y"])], {"W": weight(8, 6)}, inputs=("x", (8,))
    ),
    "a learned number in a vector of one": lambda: product(node("Mul", ["h", "g"], ["y"]), g=weight(1)),
    "weights as Constant nodes": lambda: build(
        [
            node("Constant", [], ["W"], value=onnx.numpy_helper.from_array(weight(8, 6), "W")),
            node("MatMul", ["x", "W"], ["y"]),
        ],
        {},
    ),
}


@pytest.mark.parametrize("name", AGREEING)
def test_the_module_computes_what_the_source_computes(name: str) -> None:
    agree(AGREEING[name]())


def only(module: nn.Module, kind: type[nn.Module]) -> Any:
    (found,) = (m for m in module.modules() if isinstance(m, kind))
    return found


# ---- training semantics


def test_a_weight_of_two_layers_is_one_parameter() -> None:
    module = migrate.to_module(tied())
    (parameter,) = module.parameters()
    before = parameter.detach().clone()
    module(torch.ones(2, 8)).sum().backward()
    assert parameter.grad is not None
    torch.optim.SGD(module.parameters(), lr=0.1).step()
    assert not torch.equal(before, parameter)
    uses = [p for _, p in module.named_parameters(remove_duplicate=False)]
    assert all(use is parameter for use in uses)


def test_an_export_in_training_keeps_what_trains() -> None:
    torch.manual_seed(0)
    original = ConvNet()
    module = migrate.to_module(export(original, (torch.randn(2, 1, 6, 6),), training=True))
    assert isinstance(module.b1, nn.BatchNorm2d) and module.b1.momentum == pytest.approx(0.1)
    assert only(module, nn.Dropout).p == pytest.approx(0.3)
    assert set(dict(original.named_parameters())) == set(dict(module.named_parameters()))
    x = torch.randn(4, 1, 6, 6)
    original.train()(x)
    module.train()(x)
    torch.testing.assert_close(module.b1.running_mean, original.b1.running_mean)
    torch.testing.assert_close(module.b1.running_var, original.b1.running_var)


@pytest.mark.parametrize(("given", "wanted"), [({"momentum": 0.9}, 0.1), ({"momentum": 0.99}, 0.01), ({}, 0.1)])
def test_momentum_is_counted_the_other_way(given: dict[str, float], wanted: float) -> None:
    module = migrate.to_module(normalised(["y"], **given))
    norm = only(module, nn.BatchNorm2d)
    assert norm.momentum == pytest.approx(wanted)
    assert not any("running" in name for name, _ in module.named_parameters())


def test_a_batch_norm_in_training_updates_its_statistics() -> None:
    module = migrate.to_module(normalised(["y", "mean", "var"], training_mode=1))
    norm = only(module, nn.BatchNorm2d)
    before = norm.running_mean.clone()
    module.train()(torch.randn(4, 3, 9, 8))
    assert not torch.equal(norm.running_mean, before)


@pytest.mark.parametrize(
    ("scale", "bias", "distinct"),
    [(np.ones(4, dtype=np.float32), np.zeros(4, dtype=np.float32), 8), (positive(4), weight(4), 6)],
    ids=["fresh vectors are no tie", "trained vectors are a tie, statistics never"],
)
def test_vectors_that_an_exporter_merged(scale: Any, bias: Any, distinct: int) -> None:
    module = migrate.to_module(merged(scale, bias))
    norms = [m for m in module.modules() if isinstance(m, nn.BatchNorm2d)]
    stored = [t for n in norms for t in (n.weight, n.bias, n.running_mean, n.running_var)]
    assert len(stored) == 8 and len({tensor.data_ptr() for tensor in stored}) == distinct


@pytest.mark.parametrize(
    ("opset", "ratio", "wanted"),
    [(7, 0.3, 0.3), (7, None, 0.5), (10, 0.2, 0.2), (12, 0.3, 0.3), (12, None, 0.5), (13, 0.4, 0.4), (22, 0.3, 0.3)],
)
def test_dropout_keeps_its_rate(opset: int, ratio: float | None, wanted: float) -> None:
    _, module = agree(dropped(opset, ratio))
    assert only(module, nn.Dropout).p == pytest.approx(wanted)


def test_dropout_of_zero_with_a_seed() -> None:
    agree(dropped(13, 0.0, seed=3))


@pytest.mark.parametrize("target", [(1, 48), (1, -1)])
def test_a_batch_that_was_baked_in_is_told(target: tuple[int, ...]) -> None:
    notes = migrate.load(reshaped(target, (1, 4, 3, 4))).notes
    assert [(note.code, note.where) for note in notes] == [("MIG301", "Reshape_r")]


# ---- refusals


def refusal(model: onnx.ModelProto) -> MigrateError:
    with pytest.raises(MigrateError) as caught:
        migrate.load(model)
    return caught.value


def test_every_unsupported_node_is_listed_at_once() -> None:
    nodes = [
        node("Mystery", ["h"], ["a"], name="first"),
        node("Fancy", ["a"], ["b"], name="second", domain="com.vendor"),
        node("Relu", ["b"], ["c"], name="third", colour=3),
        node("MatMul", ["c"], ["y"], name="fourth"),
        node("Relu", ["c", "c"], ["z"], name="fifth"),
    ]
    model = build([node("MatMul", ["x", "W"], ["h"]), *nodes], {"W": weight(8, 6)}, extra_opsets=["com.vendor"])
    fault = refusal(model)
    assert fault.status == Exit.UNSUPPORTED
    found = [(d.code, d.where) for d in fault.diagnostics]
    assert found == [("MIG201", "first"), ("MIG201", "second"), *(("MIG202", n) for n in ("third", "fourth", "fifth"))]
    assert "com.vendor::Fancy" in str(fault) and "colour" in str(fault) and "lacks B" in str(fault)


@pytest.mark.parametrize(
    ("model", "code", "where"),
    [
        (lambda: product(node("Add", ["h", "c"], ["y"]), c=weight(4, 6)), "MIG304", "Add_y"),
        (lambda: product(node("Reshape", ["h", "t"], ["y"]), t=ints(5, 7)), "MIG304", "Reshape_y"),
        (lambda: product(node("MatMul", ["h", "V"], ["y"]), V=weight(5, 2)), "MIG304", "MatMul_y"),
        (lambda: product(node("NonZero", ["h"], ["y"])), "MIG203", "NonZero_y"),
        (lambda: build([node("Relu", ["W"], ["y"])], {"W": weight(3, 3)}), "MIG302", "y"),
    ],
)
def test_what_cannot_follow_is_refused_at_its_node(model: Any, code: str, where: str) -> None:
    fault = refusal(model())
    assert fault.status == Exit.UNSUPPORTED
    assert [(d.code, d.where) for d in fault.diagnostics] == [(code, where)]


def test_statistics_as_outputs_are_refused() -> None:
    nodes = list(normalised(["y", "mean", "var"], training_mode=1).graph.node)
    model = build(nodes, {"C": weight(4, 3, 3, 3), **NORM}, inputs=IMAGE, outputs=("y", "mean"), opset=15)
    assert [(d.code, d.where) for d in refusal(model).diagnostics] == [("MIG203", "bn")]


def test_nothing_to_train() -> None:
    fault = refusal(build([node("Relu", ["x"], ["y"])], {}))
    assert (fault.status, fault.diagnostics[0].code) == (Exit.UNSUPPORTED, "MIG313")


class Prompted(nn.Module):
    """A class token and a learned query, both repeated for every sample, a scale of rank 0, and a size given by factors."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.query = nn.Parameter(torch.randn(1, 1, 8)), nn.Parameter(torch.randn(1, 3, 8))
        self.attention, self.scale = nn.MultiheadAttention(8, 2, batch_first=True), nn.Parameter(torch.tensor(0.7))

    def forward(self, x):
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1)
        x = nn.functional.interpolate(x.transpose(1, 2), scale_factor=2.0).transpose(1, 2)
        return self.attention(self.query.expand(len(x), -1, -1), x, x)[0] * self.scale.exp()


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("fold", [False, True])
def test_what_is_repeated_for_a_baked_batch_follows_it(batch: int, fold: bool) -> None:
    torch.manual_seed(0)
    source = Prompted().eval()
    module = migrate.to_module(export(source, (torch.randn(batch, 5, 8),), free=False, fold=fold))
    x = torch.randn(3, 5, 8)
    torch.testing.assert_close(module(x), source(x), rtol=1e-4, atol=1e-5)
    count = sum(p.numel() for p in source.parameters())
    assert sum(p.numel() for p in module.parameters()) == count
