"""Attention: torch's own function has the operator's arguments, so nothing is left to do but to name it."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.registry import aten_op
from migrate.graph import Builder, Value


@aten_op("aten.scaled_dot_product_attention")
def aten_scaled_dot_product_attention(
    b: Builder, query: Value, key: Value, value: Value, attn_mask: Value | None = None, dropout_p: Any = 0.0,
    is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False,
) -> Value:  # fmt: skip
    """What is not the default is passed by name."""
    given = {"attn_mask": attn_mask, "dropout_p": dropout_p, "is_causal": is_causal, "scale": scale}
    named = {name: v for name, v in given.items() if v is not None and v is not False and v != 0.0}
    return b.sdpa(query, key, value, **named, **({"enable_gqa": True} if enable_gqa else {}))


@aten_op("migrate.multihead_attention")
def migrate_multihead_attention(b: Builder, *args: Any) -> Any:
    """A call of `nn.MultiheadAttention`; its dropout follows the mode."""
    return b.multihead_attention(*args)
