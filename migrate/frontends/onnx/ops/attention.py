"""Attention and what belongs to it: rotary positions, caches of keys and values, attention as a recurrence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.ops.elementwise import cast
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value

DOUBLE = 11  # the only precision of the softmax beyond the one in which the package computes
SCORES, CAPPED, MASKED, WEIGHTS = range(4)  # what `qk_matmul_output_mode` may ask for


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How queries and keys are joined, beside the mask."""

    scale: float | None = None
    softcap: float = 0.0
    precision: int | None = None
    scores: int = SCORES


def heads(b: OnnxBuilder, x: Value, count: int | None) -> Value:
    """(B, T, heads * D) as (B, heads, T, D); a tensor with an axis of heads is left alone."""
    if x.rank == 4:
        return x
    if not count:
        raise Unsupported("a tensor of rank 3 without the number of heads")
    batch, length, width = x.shape
    return b.permute(b.reshape(x, (batch, length, count, width // count)), (0, 2, 1, 3))


def joined_heads(b: OnnxBuilder, x: Value) -> Value:
    """(B, heads, T, D) as (B, T, heads * D)."""
    batch, count, length, width = x.shape
    return b.reshape(b.permute(x, (0, 2, 1, 3)), (batch, length, count * width))


def with_past(b: OnnxBuilder, past: Value | None, x: Value) -> Value:
    """Earlier keys or values before the new ones."""
    return x if past is None else b.cat((past, x), dim=2)


def by_steps(b: OnnxBuilder, q: Value, k: Value, v: Value, mask: Value | None, rule: Rule) -> tuple[Value, Value]:
    """Attention step by step; the output, and what `rule.scores` names."""
    width: Any = q.shape[3]
    if q.shape[1] != k.shape[1]:
        times = q.shape[1] // k.shape[1]  # pyright: ignore[reportOperatorIssue]
        k, v = (b.repeat_interleave(x, times, dim=1) for x in (k, v))
    product = b.matmul(b.mul(q, width**-0.5 if rule.scale is None else rule.scale), b.transpose(k, 2, 3))
    capped = b.mul(b.tanh(b.div(product, rule.softcap)), rule.softcap) if rule.softcap else product
    masked = capped if mask is None else b.add(capped, mask)
    wide = b.cast(masked, "torch.float64") if rule.precision == DOUBLE else masked
    weights = b.softmax(wide, dim=-1) if mask is None else b.masked_softmax(wide, mask)
    weights = cast(b, weights, q.dtype)
    return b.matmul(weights, v), (product, capped, masked, weights)[rule.scores]


def at_once(
    b: OnnxBuilder, q: Value, k: Value, v: Value, mask: Value | None, causal: bool, scale: float | None
) -> Value:
    """Attention as torch's own function, what is the default left out."""
    named: dict[str, Any] = {"attn_mask": mask} if mask is not None else {}
    named |= {"is_causal": True} if causal else {}
    named |= {"scale": scale} if scale is not None else {}
    named |= {"enable_gqa": True} if q.shape[1] != k.shape[1] else {}
    return b.sdpa(q, k, v, **named)


@onnx_op("Attention", since=23)
def onnx_attention(
    b: OnnxBuilder,
    Q: Value,
    K: Value,
    V: Value,
    attn_mask: Value | None = None,
    past_key: Value | None = None,
    past_value: Value | None = None,
    nonpad_kv_seqlen: Value | None = None,
    *,
    is_causal: int = 0,
    kv_num_heads: int | None = None,
    left_window_size: int = -1,
    q_num_heads: int | None = None,
    qk_matmul_output_mode: int = 0,
    right_window_size: int = -1,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
) -> Any:
    """Torch's function where that is the same, else step by step; the mask of any form that torch has not is made first."""
    q = heads(b, Q, q_num_heads)
    k, v = (with_past(b, p, heads(b, x, kv_num_heads)) for p, x in ((past_key, K), (past_value, V)))
    offset = 0 if past_key is None else past_key.shape[2]
    rule = Rule(scale=scale, softcap=softcap, precision=softmax_precision, scores=qk_matmul_output_mode)
    mask, causal = mask_of(
        b, q, k, attn_mask, offset, nonpad_kv_seqlen, bool(is_causal), left_window_size, right_window_size
    )
    scores = None
    if softcap or b.num_outputs > 3 or softmax_precision == DOUBLE:
        if (mask is None and causal) or (mask is not None and mask.dtype == "bool"):
            mask = b.attention_mask(q, k, mask, causal=causal)
        y, scores = by_steps(b, q, k, v, mask, rule)
    else:
        y = at_once(b, q, k, v, mask, causal, scale)
    return (y if Q.rank == 4 else joined_heads(b, y)), k, v, scores


def mask_of(
    b: OnnxBuilder,
    q: Value,
    k: Value,
    mask: Value | None,
    offset: Any,
    lengths: Value | None,
    causal: bool,
    left: int,
    right: int,
) -> tuple[Value | None, bool]:
    """The mask, and whether torch's own causal one stands for it: where no keys come before and nothing else is masked."""
    if lengths is None and left < 0 and right < 0:
        if mask is None and (not causal or offset == 0):
            return None, causal
        if mask is not None and not causal and mask.rank > 1 and mask.shape[-1] == k.shape[2]:
            return (mask if mask.dtype in ("bool", q.dtype) else cast(b, mask, q.dtype)), False
    return b.attention_mask(q, k, mask, offset, lengths, causal, left, right), False


@onnx_op("FlexAttention", domain="ai.onnx.preview")
def onnx_flex_attention(
    b: OnnxBuilder,
    Q: Value,
    K: Value,
    V: Value,
    *,
    prob_mod: Any = None,
    scale: float | None = None,
    score_mod: Any = None,
    softmax_precision: int | None = None,
) -> Value:
    """Attention whose scores and weights a graph may change; without one it is torch's own function."""
    if prob_mod is None and score_mod is None:
        return at_once(b, Q, K, V, None, False, scale)
    if softmax_precision == DOUBLE:
        raise Unsupported("FlexAttention that changes scores in double precision")
    width: Any = Q.shape[3]
    times: Any = Q.shape[1] // K.shape[1]  # pyright: ignore[reportOperatorIssue]
    k, v = (x if times == 1 else b.repeat_interleave(x, times, dim=1) for x in (K, V))
    scores = b.matmul(b.mul(Q, width**-0.5 if scale is None else scale), b.transpose(k, 2, 3))
    scores = scores if score_mod is None else b.inline(score_mod, scores)[0]
    weights = b.softmax(scores, dim=-1)
    return b.matmul(weights if prob_mod is None else b.inline(prob_mod, weights)[0], v)


def rotary(b: OnnxBuilder, x: Value, cos: Value, sin: Value, places: Value | None, interleaved: bool) -> Value:
    """(B, heads, T, D) turned; the tables have a row for each place, or for each sample and time where no place is given."""
    cos, sin = (b.unsqueeze(t if places is None else b.getitem(t, (places,)), 1) for t in (cos, sin))
    return b.rotate_pairs(x, cos, sin, True) if interleaved else b.rotate_pairs(x, cos, sin)


@onnx_op("RotaryEmbedding", since=23)
def onnx_rotary_embedding(
    b: OnnxBuilder,
    X: Value,
    cos_cache: Value,
    sin_cache: Value,
    position_ids: Value | None = None,
    *,
    interleaved: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
) -> Value:
    """Pairs of features are turned by angles that the place tells; how many is told by the tables' width."""
    if rotary_embedding_dim and cos_cache.shape[-1] != rotary_embedding_dim // 2:
        raise Unsupported(f"tables of width {cos_cache.shape[-1]} for a rotary dimension of {rotary_embedding_dim}")
    turned = rotary(b, heads(b, X, num_heads), cos_cache, sin_cache, position_ids, bool(interleaved))
    return turned if X.rank == 4 else joined_heads(b, turned)


RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}


@onnx_op("LinearAttention", since=27)
def onnx_linear_attention(
    b: OnnxBuilder,
    query: Value,
    key: Value,
    value: Value,
    past_state: Value | None = None,
    decay: Value | None = None,
    beta: Value | None = None,
    *,
    chunk_size: int = 64,
    kv_num_heads: int,
    q_num_heads: int,
    scale: float = 0.0,
    update_rule: str = "gated_delta",
) -> Any:
    """The recurrence, step by step; `chunk_size` is a hint."""
    del chunk_size
    if RULES[update_rule] != (decay is not None, beta is not None):
        raise Unsupported(f"LinearAttention with update_rule {update_rule!r} and these inputs")
    q, k, v = (heads(b, x, n) for x, n in ((query, q_num_heads), (key, kv_num_heads), (value, kv_num_heads)))
    decay = decay if decay is None else heads(b, decay, kv_num_heads)
    rate = beta if beta is None else b.unsqueeze(b.permute(beta, (0, 2, 1)), 3)
    width: Any = k.shape[3]
    y, state = b.linear_attention(q, k, v, past_state, decay, rate, scale or width**-0.5)
    return joined_heads(b, y), state


@onnx_op("TensorScatter", since=24)
def onnx_tensor_scatter(
    b: OnnxBuilder,
    past_cache: Value,
    update: Value,
    write_indices: Value | None = None,
    *,
    axis: int = -2,
    mode: str = "linear",
) -> Value:
    """Each sample's rows are written from its own place on; `circular` goes on at the begin."""
    dim = axis % past_cache.rank
    if mode not in ("linear", "circular"):
        raise Unsupported(f"TensorScatter with mode {mode!r}")
    whole: Any = past_cache.shape[dim]
    row = tuple(-1 if i == dim else 1 for i in range(past_cache.rank))
    places = b.reshape(b.arange(update.shape[dim]), row)
    if write_indices is not None:
        places = b.add(places, b.reshape(write_indices, (-1, *[1] * (past_cache.rank - 1))))
    places = b.remainder(places, whole) if mode == "circular" else places
    return b.scatter(past_cache, dim, b.expand(places, update.shape), update)


@onnx_op("CausalConvWithState", since=27, learns=("weight", "bias"))
def onnx_causal_conv_with_state(
    b: OnnxBuilder,
    input: Value,
    weight: Value,
    bias: Value | None = None,
    past_state: Value | None = None,
    *,
    activation: str = "none",
) -> Any:
    """A depthwise convolution over this input after the last places of the one before, or after zeros."""
    if activation not in ("none", "silu", "swish"):
        raise Unsupported(f"CausalConvWithState with activation {activation!r}")
    before: Any = weight.shape[2] - 1  # pyright: ignore[reportOperatorIssue]
    x = b.pad(input, (before, 0)) if past_state is None else b.cat((past_state, input), dim=2)
    y = b.conv1d(x, weight, bias, groups=input.shape[1])
    state = b.getitem(x, (slice(None), slice(None), slice(x.shape[2] - before, None)))  # pyright: ignore[reportOperatorIssue]
    return (y if activation == "none" else b.silu(y)), state
