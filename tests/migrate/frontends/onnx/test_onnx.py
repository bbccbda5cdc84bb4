"""An imported model computes what its source computes, and keeps what trains."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import torch
from torch import nn

import migrate
from tests.migrate.frontends.onnx.agreement import agree
from tests.migrate.frontends.onnx.built import (
    conv,
    dropped,
    ints,
    merged,
    normalised,
    pooled,
    product,
    reshaped,
    softmax,
    split,
    tied,
)
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
