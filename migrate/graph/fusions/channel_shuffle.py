"""Channel shuffle.

%r = reshape(%x, (%x.shape[0], 2, 4, 8, 8))     ->      %y = channel_shuffle(%x, 2)
%t = permute(%r, (0, 2, 1, 3, 4))
%y = reshape(%t, (%x.shape[0], 8, 8, 8))
"""

from __future__ import annotations

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Rest, Tensor, call, either
from migrate.graph.sizes import numel

reshape, permute, transpose = map(call, ("reshape", "permute", "transpose"))
split = reshape(Tensor("x"), Rest("split"))
swapped = either(permute(split, Rest("order")), transpose(split, 1, 2), transpose(split, 2, 1))


def parts_of(m: Match) -> Value:
    """The input with its channels split in two axes."""
    turned = next(node for node in m.bound.nodes if node.op.name in ("permute", "transpose"))
    return turned.args[0]


def why_not(m: Match) -> str | None:
    """The channels are split in two, these two are swapped, and joined again."""
    x, parts = m["x"], parts_of(m)
    if x.rank < 3 or m.output.shape != x.shape or parts.rank != x.rank + 1:
        return "it does not end in the shape in which it began"
    if (parts.shape[0], *parts.shape[3:]) != (x.shape[0], *x.shape[2:]) or numel(parts.shape[1:3]) != x.shape[1]:
        return "what is split is not the channels"
    order = m.get("order")
    if order is not None and tuple(order) != (0, 2, 1, *range(3, parts.rank)):
        return f"the order {tuple(order)} is another"
    return None if isinstance(parts.shape[1], int) else "the number of groups is not fixed"


@fusion(reshape(swapped, Rest("joined")), check=why_not)
def channel_shuffle(b: Builder, m: Match) -> Value:
    """The channels of all groups, in turn."""
    return b.channel_shuffle(m["x"], parts_of(m).shape[1])
