"""What ONNX Runtime's optimiser joins, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest
import torch

from migrate.errors import MigrateError
from migrate.frontends.onnx import load_onnx
from migrate.graph import interpret
from tests.migrate.frontends.onnx.ops.cases import Case, check, graph_of, x
from tests.onnx_files import build, floats, node

X, ROW = x(2, 3, 8), x(8, seed=1)
IMAGE, KERNEL = x(2, 3, 6, 5), x(4, 3, 3, 3, seed=1)
IDS = np.array([[0, 2, 1], [4, 4, 3]], dtype=np.int32)
KINDS = np.array([[0, 0, 1], [0, 1, 1]], dtype=np.int32)
TABLES = (x(5, 8, seed=2), x(3, 8, seed=3), x(2, 8, seed=4))
MASK = np.array([[1, 1, 0], [1, 1, 1]], dtype=np.int32)


def case(op: str, *inputs: Any, note: str = "", **more: Any) -> Case:
    return Case(
        op=op, domain=more.pop("domain", "com.microsoft"), inputs=inputs, note=note, **{"gradcheck": True, **more}
    )


CASES = [
    case("Gelu", X),
    case("FastGelu", X),
    case("FastGelu", X, ROW, note="bias"),
    case("BiasGelu", X, ROW),
    case("QuickGelu", X),
    case("QuickGelu", X, attributes={"alpha": 1.0}),
    *(
        case("FusedConv", IMAGE, KERNEL, x(4, seed=2), attributes={"activation": name, **given}, gradcheck=False)
        for name, given in (
            ("Relu", {}),
            ("LeakyRelu", {"activation_params": [0.2]}),
            ("Clip", {"activation_params": [-0.5, 0.5]}),
            ("HardSigmoid", {"activation_params": [0.1, 0.4]}),
        )
    ),
    case("FusedConv", IMAGE, KERNEL, x(4, seed=2), x(2, 4, 6, 5), attributes={"activation": "Tanh", "pads": [1] * 4},
         note="sum"),
    case("FusedMatMul", x(2, 4, 3), x(2, 5, 4), attributes={"transA": 1, "transB": 1, "alpha": 0.5}),
    case("FusedMatMul", x(2, 3, 4), x(5, 4), constants=(1,), attributes={"transB": 1}, note="a weight", gradcheck=False),
    case("FusedGemm", x(2, 4), x(3, 4), x(3), attributes={"transB": 1, "activation": "LeakyRelu", "activation_alpha": 0.3}),
    case("SimplifiedLayerNormalization", X, ROW, domain=""),
    case("SkipLayerNormalization", X, x(2, 3, 8, seed=2), ROW, x(8, seed=3), x(8, seed=4)),
    case("SkipLayerNormalization", X, x(2, 3, 8, seed=2), ROW, note="bare", attributes={"epsilon": 1e-3}),
    case("SkipSimplifiedLayerNormalization", X, x(2, 3, 8, seed=2), ROW, x(8, seed=4)),
    case("EmbedLayerNormalization", IDS, KINDS, *TABLES, ROW, x(8, seed=6), MASK, num_outputs=2),
    case("EmbedLayerNormalization", IDS, None, *TABLES[:2], None, ROW, x(8, seed=6), num_outputs=2, note="one kind",
         attributes={"epsilon": 1e-5}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)


def test_the_sum_of_a_residual_connection_is_the_fourth_output() -> None:
    names = ["normed", "", "", "total"]
    skipped = node("SkipLayerNormalization", ["x", "skip", "gamma"], names, domain="com.microsoft")
    taken = [floats("x", (2, 3, 8)), floats("skip", (2, 3, 8))]
    model = build([skipped], {"gamma": ROW}, inputs=taken, outputs=("normed", "total"), extra_opsets=["com.microsoft"])
    given, beside = torch.from_numpy(X), torch.from_numpy(x(2, 3, 8, seed=2))
    _, total = interpret(load_onnx(model), given, beside)
    torch.testing.assert_close(total, given + beside)


def test_unknown_activations_are_refused() -> None:
    with pytest.raises(MigrateError, match="'Softmax'"):
        graph_of(case("FusedConv", IMAGE, KERNEL, attributes={"activation": "Softmax"}))


def test_channels_may_be_last() -> None:
    """ONNX Runtime has this operator on few devices: it is held against the one with the channels first."""
    form = {"activation": "Relu", "pads": [1, 0, 1, 0], "strides": [2, 1]}
    (wanted,) = interpret(
        graph_of(case("FusedConv", IMAGE, KERNEL, attributes=form)), *map(torch.from_numpy, (IMAGE, KERNEL))
    )
    last = IMAGE.transpose(0, 2, 3, 1).copy()
    (made,) = interpret(
        graph_of(case("NhwcFusedConv", last, KERNEL, attributes=form)), *map(torch.from_numpy, (last, KERNEL))
    )
    torch.testing.assert_close(made, wanted.permute(0, 2, 3, 1))
