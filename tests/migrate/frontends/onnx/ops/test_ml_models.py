"""Linear models and support vector machines against ONNX Runtime; their weights train, and can be given other values."""

from typing import Any

import numpy as np
import pytest
import torch

import migrate
from migrate.errors import MigrateError
from migrate.frontends.onnx.oracle import OnnxOracle
from tests.migrate.frontends.onnx.ops.cases import Case, check, feeds_of, graph_of, model_of, x
from tests.migrate.frontends.onnx.ops.test_ml import case

X = x(6, 4)
COUNTS = [3, 4, 2]
KERNELS = {"LINEAR": [], "POLY": [0.3, 0.5, 3.0], "RBF": [0.4, 0.0, 3.0], "SIGMOID": [0.2, 0.1, 3.0]}


def numbers(*shape: int, seed: int) -> list[float]:
    return x(*shape, seed=seed).reshape(-1).tolist()


def linear(classes: int, transform: str, labels: list[int], **more: Any) -> Case:
    return case(
        "LinearClassifier", X, coefficients=numbers(classes, 4, seed=1), intercepts=numbers(classes, seed=2),
        classlabels_ints=labels, post_transform=transform, num_outputs=2, note=f"{classes} {transform} {labels}", **more,
    )  # fmt: skip


def machine(kernel: str, counts: list[int], *, probable: bool, labels: list[int] | None = None) -> Case:
    classes, total = len(counts), sum(counts)
    pairs = classes * (classes - 1) // 2
    sigmoids = (
        {"prob_a": (-np.abs(x(pairs, seed=5)) - 0.3).tolist(), "prob_b": numbers(pairs, seed=6)} if probable else {}
    )
    return case(
        "SVMClassifier", X, coefficients=numbers(classes - 1, total, seed=1), rho=numbers(pairs, seed=2),
        support_vectors=numbers(total, 4, seed=3), vectors_per_class=counts, kernel_type=kernel, post_transform="NONE",
        kernel_params=KERNELS[kernel] or [1.0, 0.0, 1.0], classlabels_ints=labels or list(range(classes)), num_outputs=2,
        note=f"{kernel} {counts} probable={probable}", **sigmoids,
    )  # fmt: skip


def regressor(kernel: str, **more: Any) -> Case:
    return case(
        "SVMRegressor", X, coefficients=numbers(5, seed=1), rho=[0.3], support_vectors=numbers(5, 4, seed=3), n_supports=5,
        kernel_type=kernel, kernel_params=KERNELS[kernel] or [1.0, 0.0, 1.0], note=f"{kernel} {more}", **more,
    )  # fmt: skip


CASES = [
    case("LinearRegressor", X, coefficients=numbers(4, seed=1), intercepts=[0.2]),
    case("LinearRegressor", X, coefficients=numbers(2, 4, seed=1), targets=2),
    *(linear(3, transform, [0, 1, 2]) for transform in ("NONE", "LOGISTIC", "SOFTMAX")),
    linear(3, "SOFTMAX", [5, 2, 9]),
    linear(2, "LOGISTIC", [0, 1]),
    linear(1, "LOGISTIC", [4, 7]),
    *(regressor(kernel) for kernel in KERNELS),
    regressor("RBF", one_class=1, gradient=False),
    case("SVMRegressor", X, coefficients=numbers(4, seed=1), rho=[0.3], kernel_type="LINEAR", kernel_params=[1.0, 0.0, 1.0],
         n_supports=0, note="without support vectors"),
    *(machine(kernel, COUNTS, probable=probable) for kernel in KERNELS for probable in (False, True)),
    *(machine("RBF", [3, 2], probable=probable) for probable in (False, True)),
    machine("RBF", [2, 3, 1, 2], probable=True, labels=[3, 1, 4, 9]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (linear(3, "PROBIT", [0, 1, 2]), "PROBIT"),
        (linear(1, "NONE", [0, 1]), "one score"),
        (case("LinearRegressor", X, coefficients=numbers(4, seed=1), post_transform="SOFTMAX"), "SOFTMAX"),
    ],
    ids=lambda v: v if isinstance(v, str) else v.id,
)
def test_what_engines_read_differently_is_refused(refused: Case, why: str) -> None:
    with pytest.raises(MigrateError, match=why):
        graph_of(refused)


@pytest.mark.parametrize(
    ("given", "count"),
    [(linear(3, "SOFTMAX", [0, 1, 2]), 2), (machine("RBF", COUNTS, probable=True), 5)],
    ids=["linear", "svm"],
)
def test_the_weights_are_parameters_and_the_engine_takes_others(given: Case, count: int) -> None:
    model = model_of(given)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    graph = migrate.load(model)
    module = migrate.to_module(model)
    assert len(list(module.parameters())) == count
    sources = {v.weight.source: v.weight for v in graph.weights() if v.weight is not None and v.is_float}
    others = {name: weight.read() * np.float32(1.1) for name, weight in sources.items()}
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(1.1)
    made = module(torch.from_numpy(X))
    oracle = OnnxOracle(model, graph)
    for got, want in zip(made, oracle.run([X], others), strict=True):
        np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-5, atol=1e-5)
    assert not np.allclose(oracle.run([X])[1], oracle.run([X], others)[1])
    assert feeds_of(given)["i0"] is X
