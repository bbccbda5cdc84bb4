"""Window reverse: windows become the image again that they were taken from.

    %r = reshape(%w, (%x.shape[0], 2, 2, 4, 4, 16))     ->      %y = window_reverse(%w, 8, 8)
    %t = permute(%r, (0, 1, 3, 2, 4, 5))
    %y = reshape(%t, (%x.shape[0], 8, 8, 16))

Height and width are fixed numbers.
"""

from __future__ import annotations

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Rest, Tensor, call

reshape, permute = call("reshape"), call("permute")


def why_not(m: Match) -> str | None:
    """Samples are split into rows and columns of windows of one fixed size, and these are joined to height and width."""
    windows: Value = m["windows"]
    parts: Value = m.node_of("permute").args[0]
    if windows.rank not in (3, 4) or parts.rank != 6 or m.output.rank != 4:
        return "it is not three or four axes, six, and four"
    samples, rows, columns, size, width, channels = parts.shape
    if not isinstance(size, int) or size != width:
        return f"the windows of {size} by {width} are not squares of one size"
    if windows.shape[1:] not in ((size, size, channels), (size * size, channels)):
        return "what is split are not the samples"
    if m.output.shape != (samples, rows * size, columns * size, channels):
        return "what is joined is not height and width"
    if not isinstance(rows, int) or not isinstance(columns, int):
        return "height and width are not fixed"
    return None if rows * columns > 1 else "there is one window only"


@fusion(reshape(permute(reshape(Tensor("windows"), Rest("split")), (0, 1, 3, 2, 4, 5)), Rest("joined")), check=why_not)
def window_reverse(b: Builder, m: Match) -> Value:
    """The image of windows that lie side by side."""
    windows: Value = m["windows"]
    size = m.node_of("permute").args[0].shape[3]
    whole = windows if windows.rank == 4 else b.unflatten(windows, 1, (size, size))
    return b.window_reverse(whole, *m.output.shape[1:3])
