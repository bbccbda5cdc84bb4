"""Attention."""

from migrate.graph.ops import declare

declare("sdpa", "torch.nn.functional:scaled_dot_product_attention", learns_attributes=(0, 1, 2))
