"""Attention as ONNX Runtime (`com.microsoft`) joins it."""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.ops.attention import at_once, heads, joined_heads, rotary, with_past
from migrate.frontends.onnx.ops.contrib import MICROSOFT
from migrate.frontends.onnx.ops.matmul import onnx_matmul
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value


def refuse(**given: Any) -> None:
    """Raise where something is given that no handler here reads.

    Raises:
        Unsupported: it names all of it.
    """
    if found := [name for name, value in given.items() if value is not None and value is not False and value != 0]:
        raise Unsupported(f"attention with {', '.join(found)}")


def padding_mask(b: OnnxBuilder, mask: Value | None, keys: Any, filler: float) -> Value | None:
    """What is added to the scores: from lengths (B), or a mask of (B, keys) or (B, queries, keys) with 1 for what counts."""
    if mask is None:
        return None
    if mask.rank == 1:
        seen = b.lt(b.unsqueeze(b.arange(keys), 0), b.unsqueeze(mask, 1))
    else:
        seen = b.ne(mask, 0)
    for _ in range(4 - seen.rank):
        seen = b.unsqueeze(seen, 1)
    return b.where(seen, 0.0, filler)


def joined_masks(b: OnnxBuilder, q: Value, k: Value, offset: Any, causal: bool, *masks: Value | None) -> Any:
    """The mask, and whether torch's own causal one stands for it."""
    given = [m for m in masks if m is not None]
    if not given and (not causal or offset == 0):
        return None, causal
    total = given[0] if given else None
    for mask in given[1:]:
        total = b.add(total, mask)
    return (b.attention_mask(q, k, total, offset, None, True) if causal else total), False


@onnx_op("MultiHeadAttention", domain=MICROSOFT)
def microsoft_multi_head_attention(
    b: OnnxBuilder,
    query: Value,
    key: Value | None = None,
    value: Value | None = None,
    bias: Value | None = None,
    key_padding_mask: Value | None = None,
    attention_bias: Value | None = None,
    past_key: Value | None = None,
    past_value: Value | None = None,
    past_sequence_length: Value | None = None,
    cache_indirection: Value | None = None,
    *,
    mask_filter_value: float = -10000.0,
    num_heads: int,
    scale: float = 0.0,
    unidirectional: int = 0,
) -> Any:
    """Flat queries, keys and values, their biases joined; masks are added to the scores."""
    refuse(past_sequence_length=past_sequence_length, cache_indirection=cache_indirection, scores=b.num_outputs > 3)
    q, k, v = inputs_of(b, query, key, value, bias, num_heads)
    offset = 0 if past_key is None else past_key.shape[2]
    k, v = with_past(b, past_key, k), with_past(b, past_value, v)
    seen = padding_mask(b, key_padding_mask, k.shape[2], mask_filter_value)
    mask, causal = joined_masks(b, q, k, offset, bool(unidirectional), attention_bias, seen)
    return joined_heads(b, at_once(b, q, k, v, mask, causal, scale or None)), k, v


def inputs_of(
    b: OnnxBuilder, query: Value, key: Value | None, value: Value | None, bias: Value | None, count: int
) -> tuple[Value, Value, Value]:
    """Queries, keys and values by heads, each with its part of the bias.

    Raises:
        Unsupported: they are packed into one tensor, which ONNX Runtime takes on other devices only.
    """
    if key is None or value is None or query.rank != 3:
        raise Unsupported("queries, keys and values in one tensor")
    given = [query, key, value]
    if bias is not None:
        if any(x.rank != 3 for x in given):
            raise Unsupported("a bias of keys that have heads")
        widths = tuple(x.shape[2] for x in given)
        given = [b.add(x, part) for x, part in zip(given, b.split(bias, widths, dim=0), strict=True)]
    q, k, v = (heads(b, x, count) for x in given)
    return q, k, v


@onnx_op("Attention", domain=MICROSOFT, learns=("input", "weights"))
def microsoft_attention(
    b: OnnxBuilder,
    input: Value,
    weights: Value,
    bias: Value | None = None,
    mask_index: Value | None = None,
    past: Value | None = None,
    attention_bias: Value | None = None,
    past_sequence_length: Value | None = None,
    *,
    do_rotary: int = 0,
    mask_filter_value: float = -10000.0,
    num_heads: int,
    past_present_share_buffer: int = 0,
    qkv_hidden_sizes: Any = None,
    rotary_embedding_dim: int = 0,
    scale: float = 0.0,
    unidirectional: int = 0,
) -> Any:
    """One product makes queries, keys and values; past keys and values lie in one tensor."""
    refuse(past_sequence_length=past_sequence_length, do_rotary=do_rotary, shared_buffer=past_present_share_buffer)
    refuse(rotary_embedding_dim=rotary_embedding_dim)
    packed = onnx_matmul(b, input, weights)
    packed = packed if bias is None else b.add(packed, bias)
    width: Any = packed.shape[2]
    q, k, v = (heads(b, x, num_heads) for x in b.split(packed, tuple(qkv_hidden_sizes or [width // 3] * 3), dim=2))
    offset = 0 if past is None else past.shape[3]
    if past is not None:
        k, v = (with_past(b, b.select(past, 0, i), x) for i, x in enumerate((k, v)))
    seen = padding_mask(b, mask_index, k.shape[2], mask_filter_value)
    mask, causal = joined_masks(b, q, k, offset, bool(unidirectional), attention_bias, seen)
    y = joined_heads(b, at_once(b, q, k, v, mask, causal, scale or None))
    return (y, b.stack((k, v), dim=0)) if b.num_outputs > 1 else y


@onnx_op("RotaryEmbedding", domain=MICROSOFT)
def microsoft_rotary_embedding(
    b: OnnxBuilder,
    input: Value,
    position_ids: Value,
    cos_cache: Value,
    sin_cache: Value,
    *,
    interleaved: int = 0,
    is_packed_batching: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Value:
    """One place for each token, or the first place of all."""
    refuse(packed_batches=is_packed_batching, scale=scale != 1)
    if input.rank == 3 and not (rotary_embedding_dim and num_heads):
        num_heads = num_heads or input.shape[2] // (2 * cos_cache.shape[1])  # pyright: ignore[reportOperatorIssue]
    x = heads(b, input, num_heads)
    places = position_ids
    if places.rank == 1:
        places = b.add(b.unsqueeze(b.arange(x.shape[2]), 0), b.reshape(places, (1, 1)))
    turned = rotary(b, x, cos_cache, sin_cache, places, bool(interleaved))
    return turned if input.rank == 4 else joined_heads(b, turned)


def grouped(
    b: OnnxBuilder, query: Value, key: Value | None, value: Value | None, counts: tuple[int, int, int]
) -> tuple[Value, Value, Value]:
    """Queries, keys and values by heads; without keys all three lie side by side in the query."""
    given: Any = (query, key, value)
    if key is None or value is None:
        size: Any = query.shape[2] // sum(counts)  # pyright: ignore[reportOperatorIssue]
        given = b.split(query, tuple(size * count for count in counts), dim=2)
    q, k, v = (heads(b, x, count) for x, count in zip(given, counts, strict=True))
    return q, k, v


@onnx_op("GroupQueryAttention", domain=MICROSOFT)
def microsoft_group_query_attention(
    b: OnnxBuilder,
    query: Value,
    key: Value | None = None,
    value: Value | None = None,
    past_key: Value | None = None,
    past_value: Value | None = None,
    seqlens_k: Value | None = None,
    total_sequence_length: Value | None = None,
    cos_cache: Value | None = None,
    sin_cache: Value | None = None,
    position_ids: Value | None = None,
    attention_bias: Value | None = None,
    head_sink: Value | None = None,
    *,
    do_rotary: int = 0,
    kv_num_heads: int,
    local_window_size: int = -1,
    num_heads: int,
    rotary_interleaved: int = 0,
    scale: float = 0.0,
    smooth_softmax: int = 0,
    softcap: float = 0.0,
) -> Any:
    """Causal. A sample that is shorter ends in padding, whose rows count for nothing and are not looked at."""
    del total_sequence_length, seqlens_k
    refuse(head_sink=head_sink, smooth_softmax=smooth_softmax, softcap=softcap)
    q, k, v = grouped(b, query, key, value, (num_heads, kv_num_heads, kv_num_heads))
    offset: Any = 0 if past_key is None else past_key.shape[2]
    if do_rotary and cos_cache is not None and sin_cache is not None:
        places = position_ids or b.unsqueeze(b.add(b.arange(q.shape[2]), offset), 0)
        q, k = (rotary(b, x, cos_cache, sin_cache, places, bool(rotary_interleaved)) for x in (q, k))
    k, v = with_past(b, past_key, k), with_past(b, past_value, v)
    if local_window_size > 0:
        mask, causal = b.attention_mask(q, k, attention_bias, offset, None, True, local_window_size - 1), False
    else:
        mask, causal = joined_masks(b, q, k, offset, True, attention_bias)
    return joined_heads(b, at_once(b, q, k, v, mask, causal, scale or None)), k, v
