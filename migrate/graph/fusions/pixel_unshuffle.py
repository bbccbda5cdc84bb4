"""Pixel unshuffle: pixels become channels.

    %r = reshape(%x, (%x.shape[0], 2, 8, 2, 8, 2))      ->      %y = pixel_unshuffle(%x, 2)
    %t = permute(%r, (0, 1, 3, 5, 2, 4))
    %y = reshape(%t, (%x.shape[0], 8, 8, 8))

The TorchScript exporter writes it in two steps, over axes of one.
"""

from __future__ import annotations

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Rest, Tensor, call, either

reshape, permute, squeeze, unsqueeze = map(call, ("reshape", "permute", "squeeze", "unsqueeze"))
x = Tensor("x")
split = either(
    reshape(reshape(unsqueeze(x, Rest("axis")), Rest("rows")), Rest("split")),
    reshape(reshape(x, Rest("rows")), Rest("split")),
    reshape(x, Rest("split")),
)
turned = permute(split, (0, 1, 3, 5, 2, 4))


def why_not(m: Match) -> str | None:
    """Height and width are split into squares, and the places in a square go to the channels."""
    value: Value = m["x"]
    parts: Value = m.node_of("permute").args[0]
    if value.rank != 4 or parts.rank != 6 or m.output.rank != 4:
        return "it is not four axes, six, and four again"
    samples, channels, height, factor, width, columns = parts.shape
    if factor != columns or not isinstance(factor, int):
        return f"the factors {factor} and {columns} are not one fixed number"
    if (samples, channels, height * factor, width * factor) != value.shape:
        return "what is split is not height and width"
    if (samples, channels * factor * factor, height, width) != m.output.shape:
        return "what is joined is not the channels"
    return None


@fusion(
    reshape(turned, Rest("joined")),
    squeeze(reshape(turned, Rest("joined")), Rest("ones")),
    check=why_not,
)
def pixel_unshuffle(b: Builder, m: Match) -> Value:
    """Each pixel of a square is one channel of a group."""
    return b.pixel_unshuffle(m["x"], m.node_of("permute").args[0].shape[3])
