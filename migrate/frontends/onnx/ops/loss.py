"""Losses that are part of a model."""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.ops.elementwise import cast
from migrate.frontends.onnx.registry import onnx_op
from migrate.graph import Value


def options(ignore_index: int | None, reduction: str) -> dict[str, Any]:
    """The named arguments of torch's losses; a class that nothing names is not ignored, -100 in torch least of all."""
    return ({} if ignore_index is None else {"ignore_index": ignore_index}) | {"reduction": reduction}


@onnx_op("NegativeLogLikelihoodLoss", since=12)
def onnx_negative_log_likelihood_loss(
    b: OnnxBuilder,
    input: Value,
    target: Value,
    weight: Value | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> Value:
    """A mean is over the weights of the classes that count."""
    return b.nll_loss(input, cast(b, target, "int64"), weight, **options(ignore_index, reduction))


@onnx_op("SoftmaxCrossEntropyLoss", since=12)
def onnx_softmax_cross_entropy_loss(
    b: OnnxBuilder,
    scores: Value,
    labels: Value,
    weights: Value | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> Any:
    """The second output are the logarithms of the probabilities."""
    named = options(ignore_index, reduction)
    labels = cast(b, labels, "int64")
    if b.num_outputs == 1:
        return b.cross_entropy(scores, labels, weights, **named)
    log_prob = b.log_softmax(scores, dim=1)
    return b.nll_loss(log_prob, labels, weights, **named), log_prob
