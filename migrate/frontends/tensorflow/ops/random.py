"""Random numbers: drawn anew at every call, by seeds of torch."""

from __future__ import annotations

from typing import Any

from migrate.frontends.tensorflow.builder import TensorflowBuilder
from migrate.frontends.tensorflow.registry import tf_op
from migrate.graph import Value


@tf_op("RandomStandardNormal")
def tf_random_standard_normal(b: TensorflowBuilder, shape: Value, *, dtype: str = "float32") -> Any:
    """Drawn anew at every call."""
    return b.randn(tuple(b.numbers(shape)), dtype=f"torch.{dtype}")


@tf_op("RandomUniform")
def tf_random_uniform(b: TensorflowBuilder, shape: Value, *, dtype: str = "float32") -> Any:
    """Drawn anew at every call."""
    return b.rand(tuple(b.numbers(shape)), dtype=f"torch.{dtype}")
