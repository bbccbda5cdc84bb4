"""Pixel shuffle: channels become pixels.

%r = reshape(%x, (%x.shape[0], 2, 2, 2, 8, 8))      ->      %y = pixel_shuffle(%x, 2)
%t = permute(%r, (0, 1, 4, 2, 5, 3))
%y = reshape(%t, (%x.shape[0], 2, 16, 16))
"""

from __future__ import annotations

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Rest, Tensor, call

reshape, permute = call("reshape"), call("permute")


def why_not(m: Match) -> str | None:
    """The channels are split into channels, rows and columns of a square, and these go to height and width."""
    x: Value = m["x"]
    parts: Value = m.node_of("permute").args[0]
    if x.rank != 4 or parts.rank != 6 or m.output.rank != 4:
        return "it is not four axes, six, and four again"
    samples, channels, factor, columns, height, width = parts.shape
    if factor != columns or not isinstance(factor, int):
        return f"the factors {factor} and {columns} are not one fixed number"
    if (samples, channels * factor * factor, height, width) != x.shape:
        return "what is split is not the channels"
    if (samples, channels, height * factor, width * factor) != m.output.shape:
        return "what is joined is not rows and columns"
    return None


@fusion(reshape(permute(reshape(Tensor("x"), Rest("split")), (0, 1, 4, 2, 5, 3)), Rest("joined")), check=why_not)
def pixel_shuffle(b: Builder, m: Match) -> Value:
    """Each channel of a group is one pixel of a square."""
    return b.pixel_shuffle(m["x"], m.node_of("permute").args[0].shape[2])
