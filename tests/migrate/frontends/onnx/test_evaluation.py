"""A source that was exported in training mode is run as its evaluation."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from migrate.frontends.onnx import OnnxOracle, open_onnx
from migrate.frontends.onnx.evaluation import in_evaluation, trains
from tests.onnx_files import build, conv_net, mlp, node, positive, weight


def normalised(mode: int, outputs: list[str]) -> ir.Model:
    weights = {"C": weight(4, 3, 3, 3), "s": positive(4), "b": weight(4), "m": weight(4), "v": positive(4)}
    nodes = [
        node("Conv", ["x", "C"], ["c"]),
        node("BatchNormalization", ["c", "s", "b", "m", "v"], outputs, training_mode=mode),
    ]
    return open_onnx(build(nodes, weights, inputs=("x", ("N", 3, 8, 8)), opset=15))


@pytest.mark.parametrize(("mode", "outputs"), [(0, ["y"]), (1, ["y", "mean", "var"])])
def test_batch_norm(mode: int, outputs: list[str]) -> None:
    model = normalised(mode, outputs)
    turned = in_evaluation(model)
    assert [trains(n) for n in model.graph] == [False, bool(mode)]
    assert (turned is model) == (mode == 0)
    last = list(turned.graph)[-1]
    assert not trains(last) and len(last.outputs) == 1


def test_a_model_that_does_not_train_is_itself() -> None:
    model = open_onnx(mlp())
    assert in_evaluation(model) is model


def test_a_whole_export_in_training() -> None:
    model = open_onnx(conv_net())
    kinds = [n.op_type for n in model.graph if trains(n)]
    assert sorted(kinds) == ["BatchNormalization", "Dropout"]
    assert not any(trains(n) for n in in_evaluation(model).graph)
    assert sorted(n.op_type for n in model.graph if trains(n)) == kinds, "the source itself is left alone"


def test_the_engine_gives_the_same_twice() -> None:
    oracle = OnnxOracle(conv_net())
    x = np.random.default_rng(0).standard_normal((3, 1, 6, 6), dtype=np.float32)
    first, second = oracle.run([x]), oracle.run([x])
    np.testing.assert_array_equal(first[0], second[0])
