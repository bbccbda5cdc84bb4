"""Attention with what `scaled_dot_product_attention` does not take: masks from lengths and windows, capped scores, a state.

Knows nothing of the source a model came from.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def attention_mask(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None = None,
    offset: int = 0,
    lengths: Tensor | None = None,
    causal: bool = False,
    left: int = -1,
    right: int = -1,
) -> Tensor:
    """What is added to the scores: 0 where a query attends to a key, -inf where it does not.

    Args:
        q: (B, heads, Q, D).
        k: (B, heads, K, D).
        mask: broadcasts to (B, heads, Q, K) but for a shorter last axis, beyond which no key is attended to: booleans
            (True attends), or numbers that are added.
        offset: the place of the first query among the keys; `lengths` puts it where the last query is the last valid key.
        lengths: (B), how many keys of each sample are valid.
        causal: no query attends to a later key.
        left: how many earlier keys a query sees, -1 for all.
        right: how many later keys a query sees, -1 for all.
    """
    keys = torch.arange(k.shape[2], device=q.device)
    allowed = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device)
    first: int | Tensor = offset
    if lengths is not None:
        lengths = lengths.reshape(-1, 1, 1, 1)
        first = lengths - q.shape[2]
        allowed = allowed & (keys < lengths)
    ahead = keys - (torch.arange(q.shape[2], device=q.device).unsqueeze(1) + first)
    bounds = [ahead <= 0] * causal + [-ahead <= left] * (left >= 0) + [ahead <= right] * (right >= 0)
    for bound in bounds:
        allowed = allowed & bound
    if mask is not None:
        mask = mask if mask.dtype == torch.bool else mask.to(q.dtype)
        mask = F.pad(mask, (0, k.shape[2] - mask.shape[-1]), value=False if mask.dtype == torch.bool else -math.inf)
        allowed = allowed & mask if mask.dtype == torch.bool else allowed
    bias = torch.zeros(allowed.shape, dtype=q.dtype, device=q.device).masked_fill(~allowed, -math.inf)
    return bias if mask is None or mask.dtype == torch.bool else bias + mask


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """The softmax over the last axis of `scores`, to which `mask` was added; a row without any key is zero."""
    empty = (mask == -math.inf).all(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(empty, 0.0), -1).masked_fill(empty, 0.0)


def rotate_pairs(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False) -> Tensor:
    """Rotary positions: each pair of the first features of `x` is turned by its angle; features beyond them stay.

    Args:
        x: (..., T, D).
        cos: broadcasts to (..., T, R / 2), R at most D.
        sin: like `cos`.
        interleaved: whether the pairs are neighbours, else feature i is paired with i + R / 2.
    """
    width = 2 * cos.shape[-1]
    turned, rest = x[..., :width], x[..., width:]
    first, second = (turned[..., ::2], turned[..., 1::2]) if interleaved else turned.chunk(2, -1)
    pair = (cos * first - sin * second, sin * first + cos * second)
    joined = torch.stack(pair, -1).flatten(-2) if interleaved else torch.cat(pair, -1)
    return torch.cat((joined, rest), -1) if rest.shape[-1] else joined


def rotary(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False) -> Tensor:
    """Rotary positions, with a cosine and a sine for each feature and not for each pair.

    Args:
        x: (..., T, D).
        cos: broadcasts to (..., T, D).
        sin: like `cos`.
        interleaved: whether the pairs are neighbours, else feature i is paired with i + D / 2.
    """
    first, second = (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    turned = torch.stack((-second, first), -1).flatten(-2) if interleaved else torch.cat((-second, first), -1)
    return x * cos + turned * sin


def linear_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    state: Tensor | None = None,
    decay: Tensor | None = None,
    beta: Tensor | None = None,
    scale: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Attention as a recurrence: the state decays, learns each key's value, and is read by the query.

    With `beta` a key learns the difference to what the state has for it (the delta rule).

    Args:
        q: (B, heads, T, D), `heads` a multiple of those of `k`.
        k: (B, groups, T, D).
        v: (B, groups, T, E).
        state: (B, groups, D, E), zeros where absent.
        decay: (B, groups, T, D or 1), logarithms.
        beta: (B, groups or 1, T, 1).
        scale: of what is read.

    Returns:
        The outputs (B, heads, T, E), and the last state.
    """
    now = k.new_zeros(*k.shape[:2], k.shape[3], v.shape[3]) if state is None else state
    shared = q.shape[1] // k.shape[1]
    read: list[Tensor] = []
    for t in range(q.shape[2]):
        key, value = k[:, :, t].unsqueeze(3), v[:, :, t].unsqueeze(2)
        if decay is not None:
            now = now * decay[:, :, t].exp().unsqueeze(3)
        if beta is not None:
            value = beta[:, :, t].unsqueeze(3) * (value - key.transpose(2, 3) @ now)
        now = now + key * value
        read.append(scale * (q[:, :, t].unsqueeze(2) @ now.repeat_interleave(shared, 1)))
    return torch.cat(read, 2), now


def multihead_attention(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None,
    in_proj_weight: Tensor | None, q_proj_weight: Tensor | None, k_proj_weight: Tensor | None, v_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, out_proj_weight: Tensor,
    out_proj_bias: Tensor | None, num_heads: int, dropout: float = 0.0, add_zero_attn: bool = False, batch_first: bool = False,
    need_weights: bool = True, average_attn_weights: bool = True, is_causal: bool = False, training: bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    """What `nn.MultiheadAttention` computes of its tensors: the output (as `query`), and the weights if `need_weights`."""
    turned = batch_first and query.dim() == 3
    if turned:
        query, key, value = (x.transpose(0, 1) for x in (query, key, value))
    output, weights = F.multi_head_attention_forward(
        query, key, value, query.shape[-1], num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn,
        dropout, out_proj_weight, out_proj_bias, training=training, key_padding_mask=key_padding_mask,
        need_weights=need_weights, attn_mask=attn_mask, use_separate_proj_weight=in_proj_weight is None,
        q_proj_weight=q_proj_weight, k_proj_weight=k_proj_weight, v_proj_weight=v_proj_weight,
        average_attn_weights=average_attn_weights, is_causal=is_causal,
    )  # fmt: skip
    output = output.transpose(0, 1) if turned else output
    return (output,) if weights is None else (output, weights)
