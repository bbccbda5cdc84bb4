"""Embeddings as modules."""

from __future__ import annotations

from typing import Any

from migrate.codegen.layers import Arg, Layer, layer, of_dtype, tensors, weight_of
from migrate.graph.ir import Node


@layer("embedding", "input weight padding_idx=None")
def embedding(node: Node, input: Any, weight: Any, padding_idx: Any) -> Layer | None:
    """`nn.Embedding`."""
    del node
    if not weight_of(weight) or weight.rank != 2:
        return None
    args = (
        Arg("num_embeddings", weight.shape[0], positional=True),
        Arg("embedding_dim", weight.shape[1], positional=True),
        Arg("padding_idx", padding_idx, None),
    )
    named = tensors(weight=weight)
    return Layer(constructor="nn.Embedding", args=args + of_dtype(weight), inputs=(input,), role="embed", tensors=named)
