"""What classical models do to their features, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.ops.cases import Case, check, f32, graph_of, ints, x

X = x(4, 3)
HOLES = f32(1, np.nan, 3, np.nan, 5, 6).reshape(2, 3)


def case(op: str, *inputs: Any, gradcheck: bool = True, note: str = "", **attributes: Any) -> Case:
    return Case(op=op, domain="ai.onnx.ml", inputs=inputs, attributes=attributes, gradcheck=gradcheck, note=note)


CASES = [
    case("Scaler", X, offset=[0.1, 0.2, 0.3], scale=[2.0, 3.0, 4.0], gradcheck=False),
    case("Scaler", X, offset=[0.5], scale=[2.0]),
    *(case("Normalizer", np.vstack([X, np.zeros((1, 3), np.float32)]), norm=n, gradcheck=False) for n in ("L1", "L2")),
    case("Imputer", HOLES, imputed_value_floats=[7.0, 8.0, 9.0], replaced_value_float=float("nan"), gradcheck=False),
    case("Imputer", X, imputed_value_floats=[7.0], replaced_value_float=float(X[1, 1]), gradcheck=False),
    Case(op="Binarizer", domain="ai.onnx.ml", inputs=(X,), attributes={"threshold": 0.2}, gradient=False),
    case("ArrayFeatureExtractor", X, ints(2, 0)),
    case("FeatureVectorizer", X, x(4, 2, seed=1), inputdimensions=[3, 2]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)


def test_fixed_statistics_are_not_trained() -> None:
    graph = graph_of(CASES[0])
    assert [v.weight.role for v in graph.weights() if v.weight is not None] == ["buffer", "buffer"]


def test_what_engines_read_differently_is_refused() -> None:
    with pytest.raises(MigrateError, match="with and without its sign"):
        graph_of(case("Normalizer", X, norm="MAX"))
