"""Normalisations. A momentum m of ONNX is torch's 1 - m."""

from __future__ import annotations

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value


@onnx_op("BatchNormalization", since=9)
def onnx_batch_normalization(
    b: OnnxBuilder,
    X: Value,
    scale: Value,
    B: Value,
    mean: Value,
    var: Value,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
) -> Value:
    """Stays a module that follows train() and eval(); a source in training mode is the same module."""
    if training_mode and b.num_outputs > 1:
        raise Unsupported("BatchNormalization whose running statistics are outputs")
    return b.batch_norm(X, mean, var, scale, B, training=False, momentum=1 - momentum, eps=epsilon)
