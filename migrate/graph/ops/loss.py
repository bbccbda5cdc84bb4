"""Losses."""

from migrate.graph.ops import declare

for _name in ("nll_loss", "cross_entropy"):
    declare(_name, f"torch.nn.functional:{_name}")
