"""Pooling. The names with `padded` are for padding and rounding that torch's own callables do not have."""

from migrate.graph.ops import declare

for _rank in (1, 2, 3):
    for _kind in ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool"):
        declare(f"{_kind}{_rank}d", f"torch.nn.functional:{_kind}{_rank}d")
declare("padded_avg_pool", "runtime.functional.pool:padded_avg_pool")
declare("lp_pool", "runtime.functional.pool:lp_pool")
for _rank in (2, 3):
    declare(f"max_unpool{_rank}d", f"torch.nn.functional:max_unpool{_rank}d")
    declare(f"fractional_max_pool{_rank}d", f"torch.nn.functional:fractional_max_pool{_rank}d_with_indices")
