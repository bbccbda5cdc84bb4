"""Models (`ai.onnx.ml`) that are differentiable: linear ones and support vector machines; their weights are attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.ops.elementwise import cast
from migrate.frontends.onnx.ops.ml import ML
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value

KERNELS = {"LINEAR": "linear", "POLY": "polynomial", "RBF": "rbf", "SIGMOID": "sigmoid"}
TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX")


def stored(b: OnnxBuilder, attribute: str, numbers: Any, *shape: int) -> Value:
    """The weight that an attribute is, named after the node's first output.

    Raises:
        Unsupported: it is absent, or of another size.
    """
    if len(numbers) != int(np.prod(shape)):
        raise Unsupported(f"{len(numbers)} numbers as {attribute}, where {int(np.prod(shape))} are needed")
    array = np.array(numbers, dtype="float32").reshape(shape)
    return b.source(f"{b.output_names[0]}.{attribute}", lambda: array, "float32", array.shape)


def transformed(b: OnnxBuilder, scores: Value, post_transform: str) -> Value:
    """Scores as the source gives them.

    Raises:
        Unsupported: engines differ in the transform.
    """
    if post_transform not in TRANSFORMS:
        raise Unsupported(f"the transform {post_transform} of scores")
    if post_transform == "SOFTMAX":
        return b.softmax(scores, dim=-1)
    return b.sigmoid(scores) if post_transform == "LOGISTIC" else scores


def named(b: OnnxBuilder, places: Value, labels: Any) -> Value:
    """The labels of these places.

    Raises:
        Unsupported: the labels are text of which more is made, or none are given.
    """
    if not labels:
        raise Unsupported("a classifier whose labels are text that the model reads on, or are not given")
    if tuple(labels) == tuple(range(len(labels))):
        return places
    return b.index_select(b.tensor(b.static(np.array(labels, dtype=object), "int64")), 0, places)


@onnx_op("LinearRegressor", domain=ML)
def ml_linear_regressor(
    b: OnnxBuilder,
    X: Value,
    *,
    coefficients: Any = (),
    intercepts: Any = None,
    post_transform: str = "NONE",
    targets: int = 1,
) -> Value:
    """A `linear`; engines differ in transforms of its result."""
    if post_transform != "NONE":
        raise Unsupported(f"LinearRegressor with the transform {post_transform}")
    weight = stored(b, "coefficients", coefficients, targets, len(coefficients) // targets)
    return b.linear(cast(b, X, "float32"), weight, intercepts and stored(b, "intercepts", intercepts, targets))


@onnx_op("LinearClassifier", domain=ML)
def ml_linear_classifier(
    b: OnnxBuilder,
    X: Value,
    *,
    classlabels_ints: Any = None,
    classlabels_strings: Any = None,
    coefficients: Any = (),
    intercepts: Any = None,
    multi_class: int = 0,
    post_transform: str = "NONE",
) -> Any:
    """A `linear` and the label of the largest score; one score for two labels is that of the second."""
    del multi_class, classlabels_strings
    classes = len(intercepts) if intercepts else max(len(classlabels_ints or ()), 1)
    weight = stored(b, "coefficients", coefficients, classes, len(coefficients) // classes)
    scores = b.linear(cast(b, X, "float32"), weight, intercepts and stored(b, "intercepts", intercepts, classes))
    if classes == 1:
        if len(classlabels_ints or ()) != 2 or post_transform != "LOGISTIC":
            raise Unsupported(f"LinearClassifier of one score with the transform {post_transform}")
        places = b.cast(b.gt(b.squeeze(scores, 1), 0.0), "torch.int64")
        p = b.sigmoid(scores)
        return named(b, places, classlabels_ints), b.cat((b.sub(1.0, p), p), dim=1)
    return named(b, b.argmax(scores, 1), classlabels_ints), transformed(b, scores, post_transform)


def alike(b: OnnxBuilder, X: Value, support_vectors: Any, count: int, kernel_type: str, kernel_params: Any) -> Value:
    """The kernel of the inputs with each support vector."""
    support = stored(b, "support_vectors", support_vectors or (), count, len(support_vectors or ()) // count)
    gamma, offset, degree = kernel_params or (1.0, 0.0, 1.0)
    kind = KERNELS[kernel_type]
    more = {"linear": (), "rbf": (gamma,), "sigmoid": (gamma, offset), "polynomial": (gamma, offset, degree)}[kind]
    return b.svm_kernel(cast(b, X, "float32"), support, kind, *more)


@onnx_op("SVMRegressor", domain=ML)
def ml_svm_regressor(
    b: OnnxBuilder,
    X: Value,
    *,
    coefficients: Any = (),
    kernel_params: Any = None,
    kernel_type: str = "LINEAR",
    n_supports: int = 0,
    one_class: int = 0,
    post_transform: str = "NONE",
    rho: Any = (),
    support_vectors: Any = None,
) -> Value:
    """A `linear` of kernels; of one class, whether a sample is in it (1) or not (-1)."""
    if post_transform != "NONE":
        raise Unsupported(f"SVMRegressor with the transform {post_transform}")
    if not n_supports and kernel_type != "LINEAR":
        raise Unsupported("SVMRegressor with a kernel and without support vectors")
    x = alike(b, X, support_vectors, n_supports, kernel_type, kernel_params) if n_supports else cast(b, X, "float32")
    weight = stored(b, "coefficients", coefficients, 1, len(coefficients))
    y = b.linear(x, weight, stored(b, "rho", rho[:1], 1))
    return b.where(b.gt(y, 0.0), 1.0, -1.0) if one_class else y


@onnx_op("SVMClassifier", domain=ML)
def ml_svm_classifier(
    b: OnnxBuilder,
    X: Value,
    *,
    classlabels_ints: Any = None,
    classlabels_strings: Any = None,
    coefficients: Any = (),
    kernel_params: Any = None,
    kernel_type: str = "LINEAR",
    post_transform: str = "NONE",
    prob_a: Any = None,
    prob_b: Any = None,
    rho: Any = (),
    support_vectors: Any = None,
    vectors_per_class: Any = None,
) -> Any:
    """The winner among all pairs of classes, and either the probabilities or the decisions."""
    del classlabels_strings
    classes = len(vectors_per_class or ())
    if classes < 2 or post_transform != "NONE":
        raise Unsupported(
            f"SVMClassifier of {classes} classes with support vectors, with the transform {post_transform}"
        )
    count, pairs = sum(vectors_per_class), classes * (classes - 1) // 2
    kernels = alike(b, X, support_vectors, count, kernel_type, kernel_params)
    weights = stored(b, "coefficients", coefficients, classes - 1, count), stored(b, "rho", rho, pairs)
    decided = b.svm_decisions(kernels, *weights, tuple(vectors_per_class))
    label = named(b, b.svm_winners(decided, classes), classlabels_ints)
    if prob_a:
        sigmoids = stored(b, "prob_a", prob_a, pairs), stored(b, "prob_b", prob_b or (), pairs)
        return label, b.svm_probabilities(decided, *sigmoids, classes)
    return label, decided if classes > 2 else b.cat((b.neg(decided), decided), dim=1)
