"""Scaled dot-product attention. Knows no device."""

import torch.nn.functional as F
from torch import Tensor


def sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    causal: bool,
    dropout: float,
    scale: float | None,
    enable_gqa: bool,
) -> Tensor:
    """See `kernels.sdpa`."""
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, dropout_p=dropout, is_causal=causal, scale=scale, enable_gqa=enable_gqa
    )
