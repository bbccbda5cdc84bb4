"""Normalisations, over all versions that differ in meaning."""

import numpy as np
import pytest

import migrate
from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.ops.cases import Case, check, graph_of, x
from tests.onnx_files import build, node

X, S, B, M = x(2, 6, 4, 5), x(6, seed=1), x(6, seed=2), x(6, seed=3)
V = np.abs(x(6, seed=4)) + 0.5
CASES = [
    Case(op="BatchNormalization", inputs=(X, S, B, M, V), constants=(3, 4), attributes={"epsilon": 1e-3}),
    Case(op="BatchNormalization", inputs=(X, S, B, M, V), constants=(1, 2, 3, 4), free=(0, 2, 3)),
    Case(op="BatchNormalization", inputs=(X, S, B, M, V), constants=(3, 4), opset=9),
    Case(op="BatchNormalization", inputs=(X, S, B, M, V), constants=(3, 4), opset=7),
    Case(op="InstanceNormalization", inputs=(X, S, B)),
    Case(op="LayerNormalization", inputs=(X, x(5, seed=1), x(5, seed=2))),
    Case(op="LayerNormalization", inputs=(X, x(4, 5, seed=1)), attributes={"axis": 2}),
    Case(
        op="LayerNormalization",
        inputs=(X, x(5, seed=1), x(5, seed=2)),
        num_outputs=3,
        note="statistics",
        gradcheck=True,
    ),
    Case(op="LayerNormalization", inputs=(X, x(1, seed=1), x(5, seed=2)), note="a scale that broadcasts"),
    Case(op="RMSNormalization", inputs=(X, x(5, seed=1)), opset=23, engine="reference"),
    Case(op="GroupNormalization", inputs=(X, S, B), opset=21, attributes={"num_groups": 3}, engine="reference"),
    Case(op="GroupNormalization", inputs=(X, S, B), opset=18, attributes={"num_groups": 6}, engine="reference"),
    Case(
        op="GroupNormalization",
        inputs=(X, x(3), x(3, seed=1)),
        opset=18,
        attributes={"num_groups": 3},
        engine="reference",
    ),
    *(Case(op="LRN", inputs=(X,), attributes={"size": n, "alpha": 0.3, "bias": 2.0}) for n in (3, 5)),
    # the evaluator takes the number of samples for that of channels
    *(
        Case(op="LRN", inputs=(x(6, 6, 4, 5),), attributes={"size": n, "alpha": 0.3}, engine="reference")
        for n in (2, 4)
    ),
    *(Case(op="LpNormalization", inputs=(X,), attributes={"p": p, "axis": 1}) for p in (1, 2)),
    Case(op="MeanVarianceNormalization", inputs=(X,)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)


def test_batch_norm_is_one_node_with_the_momentum_of_torch() -> None:
    (node,) = graph_of(CASES[1]).nodes
    assert node.op.name == "batch_norm"
    assert node.kwargs["momentum"] == pytest.approx(0.1)
    assert [a.weight.source for a in node.args[1:]] == ["i3", "i4", "i1", "i2"]


def test_running_statistics_as_outputs_are_refused() -> None:
    case = Case(
        op="BatchNormalization",
        inputs=(X, S, B, M, V),
        opset=15,
        attributes={"training_mode": 1},
        num_outputs=3,
    )
    with pytest.raises(MigrateError, match="running statistics"):
        graph_of(case)


@pytest.mark.parametrize(
    ("names", "trained"), [(("s", "b"), 3), (("/n/Constant_output_0", "/n/Constant_1_output_0"), 1)]
)
def test_a_scale_of_ones_is_trained_unless_an_exporter_made_it(names: tuple[str, str], trained: int) -> None:
    weights = dict(zip(names, (np.ones(6, np.float32), np.zeros(6, np.float32)), strict=True)) | {"g": x(6, 1, 1)}
    nodes = [node("InstanceNormalization", ["x", *names], ["n"]), node("Mul", ["n", "g"], ["y"])]
    model = build(nodes, weights, inputs=("x", ("N", 6, 4, 5)))
    model.producer_name = "pytorch"
    assert len([*migrate.to_module(model).parameters()]) == trained
