"""Embeddings."""

from __future__ import annotations

from migrate.frontends.keras.builder import KerasBuilder
from migrate.frontends.keras.registry import Unsupported, keras_layer
from migrate.graph import Value


@keras_layer("Embedding", variables=("embeddings",))
def keras_embedding(b: KerasBuilder, x: Value, *, input_dim: int, output_dim: int, mask_zero: bool = False) -> Value:
    """A row of a table for each number."""
    del input_dim, output_dim
    if mask_zero:
        raise Unsupported("mask_zero: masks are not read", "train without the mask, or export the model to ONNX")
    if x.dtype not in ("int32", "int64"):
        x = b.cast(x, "torch.int64")
    return b.embedding(x, b.variable("embeddings"))
