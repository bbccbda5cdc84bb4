"""Lets a call of `nn.MultiheadAttention` be one operator of an exported program, so that it can come back as that module.

In pieces it is twenty operators, which differ with its masks and weights. Knows torch.export's tracing, no graph.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

NAME = "migrate::multihead_attention"
_SCHEMA = (
    "(Tensor query, Tensor key, Tensor value, Tensor? key_padding_mask, Tensor? attn_mask, Tensor? in_proj_weight, "
    "Tensor? q_proj_weight, Tensor? k_proj_weight, Tensor? v_proj_weight, Tensor? in_proj_bias, Tensor? bias_k, "
    "Tensor? bias_v, Tensor out_proj_weight, Tensor? out_proj_bias, int num_heads, float dropout, bool add_zero_attn, "
    "bool batch_first, bool need_weights, bool average_attn_weights, bool is_causal, bool training) -> Tensor[]"
)


@cache
def operator() -> Any:
    """The operator, made known to torch; with its meaning, so that a program that holds it can run."""
    import torch

    from runtime.functional.attention import multihead_attention

    def meaning(*args: Any) -> list[Tensor]:
        return [found.clone() for found in multihead_attention(*args)]

    torch.library.define(NAME, _SCHEMA)
    torch.library.impl(NAME, "CompositeExplicitAutograd")(meaning)
    torch.library.register_fake(NAME)(meaning)
    return torch.ops.migrate.multihead_attention.default


@contextmanager
def kept_whole() -> Generator[None]:
    """Inside, `nn.MultiheadAttention` calls the operator; what derives from it and computes otherwise does not."""
    from torch import nn

    found = nn.MultiheadAttention.forward
    called = operator()

    def forward(
        self: nn.MultiheadAttention, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        results = called(
            query, key, value, key_padding_mask, attn_mask, self.in_proj_weight, self.q_proj_weight, self.k_proj_weight,
            self.v_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v, self.out_proj.weight, self.out_proj.bias,
            self.num_heads, self.dropout, self.add_zero_attn, self.batch_first, need_weights, average_attn_weights,
            is_causal, self.training,
        )  # fmt: skip
        return results[0], results[1] if need_weights else None

    nn.MultiheadAttention.forward = forward
    try:
        yield
    finally:
        nn.MultiheadAttention.forward = found
