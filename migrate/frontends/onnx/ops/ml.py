"""What classical models (`ai.onnx.ml`) do to their features before anything is learned."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.ops.elementwise import cast
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value

ML = "ai.onnx.ml"


def row(b: OnnxBuilder, numbers: Any) -> Value | float:
    """A number for each feature, or one for all."""
    if len(set(numbers)) == 1:
        return float(numbers[0])
    return b.tensor(b.static(np.array(numbers, dtype="float32"), "float32"))


@onnx_op("Scaler", domain=ML)
def ml_scaler(b: OnnxBuilder, X: Value, *, offset: Any = (0.0,), scale: Any = (1.0,)) -> Value:
    """(x - offset) * scale: fixed statistics of the data, which are not trained."""
    x = cast(b, X, "float32")
    x = x if set(offset) == {0.0} else b.sub(x, row(b, offset))
    return x if set(scale) == {1.0} else b.mul(x, row(b, scale))


@onnx_op("Normalizer", domain=ML)
def ml_normalizer(b: OnnxBuilder, X: Value, *, norm: str = "MAX") -> Value:
    """Each row over its largest number, its sum of absolute numbers, or its length; a row of zeros stays."""
    x = cast(b, X, "float32")
    if norm == "MAX":
        raise Unsupported("Normalizer with the largest number, which engines take with and without its sign")
    return b.lp_normalize(x, {"L1": 1, "L2": 2}[norm], -1)


@onnx_op("Imputer", domain=ML)
def ml_imputer(
    b: OnnxBuilder,
    X: Value,
    *,
    imputed_value_floats: Any = (),
    imputed_value_int64s: Any = (),
    replaced_value_float: float = 0.0,
    replaced_value_int64: int = 0,
) -> Value:
    """Another number where one is missing, which is no number or a given one."""
    if not X.is_float:
        made = row(b, [float(v) for v in imputed_value_int64s])
        if isinstance(made, Value):
            raise Unsupported("Imputer of integers with a number for each feature")
        return b.where(b.eq(X, replaced_value_int64), int(made), X)
    missing = b.isnan(X) if math.isnan(replaced_value_float) else b.eq(X, replaced_value_float)
    return b.where(missing, row(b, imputed_value_floats), X)


@onnx_op("Binarizer", domain=ML)
def ml_binarizer(b: OnnxBuilder, X: Value, *, threshold: float = 0.0) -> Value:
    """1 above the threshold, else 0."""
    return b.cast(b.gt(X, threshold), f"torch.{X.dtype}")


@onnx_op("ArrayFeatureExtractor", domain=ML)
def ml_array_feature_extractor(b: OnnxBuilder, X: Value, Y: Value) -> Value:
    """The features of these places of the last axis."""
    places = (Y.rank > 1 and b.reshape(Y, (-1,))) or Y
    return b.getitem(X, (*[slice(None)] * (X.rank - 1), places))


@onnx_op("FeatureVectorizer", domain=ML)
def ml_feature_vectorizer(b: OnnxBuilder, *X: Value, inputdimensions: Any = ()) -> Value:
    """All features in one row."""
    if any(value.rank != 2 or size != value.shape[1] for value, size in zip(X, inputdimensions, strict=True)):
        raise Unsupported("FeatureVectorizer that cuts or pads")
    return b.cat(tuple(cast(b, value, "float32") for value in X), dim=1)
