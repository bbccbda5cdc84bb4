"""Attention."""

from migrate.graph.ops import declare

declare("sdpa", "torch.nn.functional:scaled_dot_product_attention", learns_attributes=(0, 1, 2))
for _name in ("attention_mask", "masked_softmax", "rotate_pairs", "rotary", "linear_attention"):
    declare(_name, f"runtime.functional.attention:{_name}")
declare(
    "multihead_attention", "runtime.functional.attention:multihead_attention", many=True, learns=tuple(range(5, 14))
)
