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
    x = b.unsqueeze(X, 0) if X.rank == 1 else X
    return b.index_select(x, x.rank - 1, b.reshape(Y, (-1,)))


def matches(b: OnnxBuilder, X: Value, keys: Any, dtype: str) -> Value:
    """For each element whether it is each of the keys, along a new last axis."""
    if not keys:
        raise Unsupported("text, which no tensor of a training package holds")
    table = b.tensor(b.static(np.array(keys, dtype=object), dtype))
    return b.eq(b.unsqueeze(cast(b, X, dtype), X.rank), table)


@onnx_op("OneHotEncoder", domain=ML)
def ml_one_hot_encoder(
    b: OnnxBuilder, X: Value, *, cats_int64s: Any = None, cats_strings: Any = None, zeros: int = 1
) -> Value:
    """1 at the category, along a new last axis; an unknown one has zeros, where engines may raise as well."""
    del cats_strings, zeros
    return b.cast(matches(b, X, cats_int64s, "int64"), "torch.float32")


@onnx_op("LabelEncoder", domain=ML, since=2)
def ml_label_encoder(
    b: OnnxBuilder,
    X: Value,
    *,
    default_float: float = -0.0,
    default_int64: int = -1,
    default_string: str = "_Unused",
    default_tensor: Any = None,
    keys_floats: Any = None,
    keys_int64s: Any = None,
    keys_strings: Any = None,
    keys_tensor: Any = None,
    values_floats: Any = None,
    values_int64s: Any = None,
    values_strings: Any = None,
    values_tensor: Any = None,
) -> Value:
    """A number for each number: a fixed table."""
    del default_string, keys_strings, values_strings
    if keys_tensor is not None or values_tensor is not None or default_tensor is not None:
        raise Unsupported("LabelEncoder with tables that are tensors")
    hit = matches(b, X, keys_floats or keys_int64s, "float32" if keys_floats else "int64")
    dtype, default = ("float32", default_float) if values_floats else ("int64", default_int64)
    if not (values_floats or values_int64s):
        raise Unsupported("text, which no tensor of a training package holds")
    values = b.tensor(b.static(np.array(values_floats or values_int64s, dtype=object), dtype))
    found = b.getitem(values, b.argmax(b.cast(hit, "torch.int32"), -1))
    return b.where(b.any(hit, -1), found, default)


@onnx_op("FeatureVectorizer", domain=ML)
def ml_feature_vectorizer(b: OnnxBuilder, *X: Value, inputdimensions: Any = ()) -> Value:
    """All features in one row."""
    if any(value.rank != 2 or size != value.shape[1] for value, size in zip(X, inputdimensions, strict=True)):
        raise Unsupported("FeatureVectorizer that cuts or pads")
    return b.cat(tuple(cast(b, value, "float32") for value in X), dim=1)
