"""What classical models do to their features, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.ops.cases import Case, check, f32, graph_of, ints, x

X = x(4, 3)
HOLES = f32(1, np.nan, 3, np.nan, 5, 6).reshape(2, 3)


def case(op: str, *inputs: Any, gradcheck: bool = True, note: str = "", **attributes: Any) -> Case:
    form = {"gradient": attributes.pop("gradient", True), "num_outputs": attributes.pop("num_outputs", 1)}
    return Case(
        op=op, domain="ai.onnx.ml", inputs=inputs, attributes=attributes, gradcheck=gradcheck, note=note, version=3, **form
    )  # fmt: skip


CASES = [
    case("Scaler", X, offset=[0.1, 0.2, 0.3], scale=[2.0, 3.0, 4.0], gradcheck=False),
    case("Scaler", X, offset=[0.5], scale=[2.0]),
    *(case("Normalizer", np.vstack([X, np.zeros((1, 3), np.float32)]), norm=n, gradcheck=False) for n in ("L1", "L2")),
    case("Imputer", HOLES, imputed_value_floats=[7.0, 8.0, 9.0], replaced_value_float=float("nan"), gradcheck=False),
    case("Imputer", X, imputed_value_floats=[7.0], replaced_value_float=float(X[1, 1]), gradcheck=False),
    Case(op="Binarizer", domain="ai.onnx.ml", inputs=(X,), attributes={"threshold": 0.2}, gradient=False),
    case("ArrayFeatureExtractor", X, ints(2, 0)),
    case("ArrayFeatureExtractor", X[0], ints(2, 0)),
    case("ArrayFeatureExtractor", X, np.array(1, np.int64)),
    case("FeatureVectorizer", X, x(4, 2, seed=1), inputdimensions=[3, 2]),
    case("OneHotEncoder", np.array([[1, 2], [5, 9]], np.int64), cats_int64s=[1, 2, 5], zeros=1),
    case("OneHotEncoder", f32(1, 5, 3), cats_int64s=[1, 2, 5], zeros=1, gradient=False),
    case("LabelEncoder", ints(1, 2, 5), keys_int64s=[1, 2], values_floats=[0.5, 1.5], default_float=-3.0),
    case("LabelEncoder", ints(1, 2, 5), keys_int64s=[1, 2], values_int64s=[7, 8]),
    case("LabelEncoder", f32(1, 2.5, 5), keys_floats=[1.0, 2.5], values_int64s=[7, 8], default_int64=4, gradient=False),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)


def test_fixed_statistics_are_not_trained() -> None:
    graph = graph_of(CASES[0])
    assert [v.weight.role for v in graph.weights() if v.weight is not None] == ["buffer", "buffer"]


@pytest.mark.parametrize(
    "attributes",
    [{"keys_strings": ["a"], "values_int64s": [1]}, {"keys_int64s": [1], "values_strings": ["a"]}],
    ids=str,
)
def test_text_is_refused(attributes: dict[str, Any]) -> None:
    with pytest.raises(MigrateError, match="text"):
        graph_of(case("LabelEncoder", ints(1, 2), **attributes))


def test_what_engines_read_differently_is_refused() -> None:
    with pytest.raises(MigrateError, match="with and without its sign"):
        graph_of(case("Normalizer", X, norm="MAX"))
