"""Attention as a module of torch.nn. Its call has masks and options by name, and gives a pair."""

from __future__ import annotations

from typing import Any

from migrate.codegen.layers import Arg, Layer, layer, literal, of_dtype, tensors, weight_of
from migrate.graph.ir import Node

_SIGNATURE = (
    "query key value key_padding_mask attn_mask in_proj_weight q_proj_weight k_proj_weight v_proj_weight in_proj_bias "
    "bias_k bias_v out_proj_weight out_proj_bias num_heads dropout=0.0 add_zero_attn=False batch_first=False "
    "need_weights=True average_attn_weights=True is_causal=False training=False"
)
_OPTIONS = {"need_weights": True, "average_attn_weights": True, "is_causal": False}


@layer("multihead_attention", _SIGNATURE)
def multihead_attention(node: Node, **given: Any) -> Layer | None:
    """`nn.MultiheadAttention`, with one projection of queries, keys and values or one for each."""
    named = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias", "bias_k", "bias_v")
    held = tensors(
        **{name: given[name] for name in named},
        **{"out_proj.weight": given["out_proj_weight"], "out_proj.bias": given["out_proj_bias"]},
    )
    options = {name: given[name] for name in _OPTIONS}
    if not all(weight_of(w) for w in held.values()) or not all(map(literal, options.values())):
        return None
    width = given["out_proj_weight"].shape[0]
    apart = given["in_proj_weight"] is None
    args = (
        Arg("embed_dim", width, positional=True),
        Arg("num_heads", given["num_heads"], positional=True),
        Arg("dropout", given["dropout"], 0.0, config="dropout" if given["dropout"] else ""),
        Arg("bias", given["in_proj_bias"] is not None, True),
        Arg("add_bias_kv", given["bias_k"] is not None, False),
        Arg("add_zero_attn", given["add_zero_attn"], False),
        Arg("kdim", given["k_proj_weight"].shape[1] if apart else None, None),
        Arg("vdim", given["v_proj_weight"].shape[1] if apart else None, None),
        Arg("batch_first", given["batch_first"], False),
        *of_dtype(given["out_proj_weight"]),
    )
    masks = tensors(key_padding_mask=given["key_padding_mask"], attn_mask=given["attn_mask"])
    return Layer(
        constructor="nn.MultiheadAttention",
        args=args,
        inputs=(given["query"], given["key"], given["value"], *masks.values()),
        by_name=tuple(masks),
        options=tuple((name, value) for name, value in options.items() if value != _OPTIONS[name]),
        role="attn",
        tensors=held,
        kind="attention",
    )
