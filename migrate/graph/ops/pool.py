"""Pooling."""

from migrate.graph.ops import declare

for _rank in (1, 2, 3):
    for _kind in ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool"):
        declare(f"{_kind}{_rank}d", f"torch.nn.functional:{_kind}{_rank}d")
for _rank in (1, 2):
    declare(f"lp_pool{_rank}d", f"torch.nn.functional:lp_pool{_rank}d")
