"""Convolutions, one op per rank as in the public interface."""

from migrate.graph.ops import declare

for _rank in (1, 2, 3):
    declare(f"conv{_rank}d", f"torch.nn.functional:conv{_rank}d", learns=(1, 2), learns_attributes=(0,))
    declare(
        f"conv_transpose{_rank}d", f"torch.nn.functional:conv_transpose{_rank}d", learns=(1, 2), learns_attributes=(0,)
    )
