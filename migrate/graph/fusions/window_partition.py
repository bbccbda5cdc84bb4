"""Window partition: an image becomes its windows, as attention within windows takes them.

%r = reshape(%x, (%x.shape[0], 2, 4, 2, 4, 16))     ->      %w = window_partition(%x, 4)
%t = permute(%r, (0, 1, 3, 2, 4, 5))                        %y = flatten(%w, 1, 2)
%y = reshape(%t, (%x.shape[0] * 4, 16, 16))
"""

from __future__ import annotations

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Rest, Tensor, call
from migrate.graph.sizes import equal

reshape, permute = call("reshape"), call("permute")


def why_not(m: Match) -> str | None:
    """Height and width are split into windows of one fixed size, and each window is a sample."""
    x: Value = m["x"]
    parts: Value = m.node_of("permute").args[0]
    if x.rank != 4 or parts.rank != 6:
        return "it is not four axes and then six"
    samples, rows, size, columns, width, channels = parts.shape
    if not isinstance(size, int) or size != width:
        return f"the windows of {size} by {width} are not squares of one size"
    if (samples, rows * size, columns * size, channels) != x.shape:
        return "what is split is not height and width"
    last = m.output.shape[1:]
    if last not in ((size, size, channels), (size * size, channels)):
        return "what is joined are not samples and windows"
    return None if not equal(m.output.shape[0], samples) else "there is one window only"


@fusion(reshape(permute(reshape(Tensor("x"), Rest("split")), (0, 1, 3, 2, 4, 5)), Rest("joined")), check=why_not)
def window_partition(b: Builder, m: Match) -> Value:
    """The windows of an image, one a sample."""
    windows: Value = b.window_partition(m["x"], m.node_of("permute").args[0].shape[2])
    return windows if m.output.rank == 4 else b.flatten(windows, 1, 2)
