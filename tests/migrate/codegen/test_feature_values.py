"""Inputs of a support vector machine are drawn among its support vectors."""

import numpy as np
import pytest
import torch

import migrate
from migrate.codegen.feature_values import feature_values
from runtime.package import TensorSpec
from tests.migrate.frontends.onnx.ops.cases import Case, model_of, x
from tests.migrate.frontends.onnx.ops.test_ml import case
from tests.migrate.frontends.onnx.ops.test_ml_models import regressor

SUPPORT = x(5, 4, seed=3)


def values(given: Case, scaler: dict | None = None) -> tuple[tuple[float, ...], tuple[float, ...]]:
    model = model_of(given)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    if scaler is not None:
        (before,) = model_of(case("Scaler", x(6, 4), **scaler)).graph.node
        before.input[:], before.output[:] = ["i0"], ["scaled"]
        model.graph.node[0].input[0] = "scaled"
        model.graph.node.insert(0, before)
    graph = migrate.load(model)
    return feature_values(graph.inputs[0], graph.nodes)


def test_they_lie_where_the_support_vectors_are() -> None:
    mean, deviation = values(regressor("RBF"))
    np.testing.assert_allclose(mean, SUPPORT.mean(0), rtol=1e-3)
    np.testing.assert_allclose(deviation, SUPPORT.std(0), rtol=1e-3)


def test_arithmetic_before_the_kernel_is_undone() -> None:
    mean, deviation = values(regressor("RBF"), {"offset": [50.0, 2.0, 0.0, -1.0], "scale": [0.1, 2.0, 1.0, -4.0]})
    np.testing.assert_allclose(
        (np.array(mean) - [50, 2, 0, -1]) * [0.1, 2, 1, -4], SUPPORT.mean(0), rtol=1e-2, atol=0.02
    )
    np.testing.assert_allclose(np.array(deviation) * [0.1, 2, 1, 4], SUPPORT.std(0), rtol=1e-3)


def test_a_model_without_a_kernel_has_none() -> None:
    assert values(case("LinearRegressor", x(6, 4), coefficients=[1.0, 2.0, 3.0, 4.0])) == ((), ())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_drawn_lies_there(dtype: str) -> None:
    spec = TensorSpec(name="x", shape=("batch", 2), dtype=dtype, mean=(50.0, -3.0), deviation=(10.0, 0.5))
    drawn = spec.draw({}, 4000, torch.Generator().manual_seed(0))
    assert str(drawn.dtype) == f"torch.{dtype}"
    np.testing.assert_allclose(drawn.mean(0), [50, -3], rtol=0.02)
    np.testing.assert_allclose(drawn.std(0), [10, 0.5], rtol=0.05)
