"""Roll: what leaves a tensor at one end comes back at the other.

    %a = getitem(%x, (slice(None), slice(3, None)))     ->      %y = roll(%x, -3, 1)
    %b = getitem(%x, (slice(None), slice(None, 3)))
    %y = cat((%a, %b), dim=1)

Rolls of two axes, one after the other, are one.
"""

from __future__ import annotations

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Part, Rest, Tensor, call

cat, roll = call("cat"), call("roll")


def why_not(m: Match) -> str | None:
    """The end of a tensor is put before its beginning, and both are the whole."""
    axis, size = m["end"].axis, m["x"].shape[m["end"].axis]
    if m["start"].axis != axis or (m["axis"] or 0) % m["x"].rank != axis:
        return "the parts are cut and joined along different axes"
    end, start = m["end"].places, m["start"].places
    whole = end and start and end == range(len(start), size) and start == range(len(start))
    return None if whole else "the parts are not the whole"


@fusion(cat((Part("x", "end"), Part("x", "start")), dim=Rest("axis")), check=why_not)
def one_axis(b: Builder, m: Match) -> Value:
    """The end before the beginning."""
    size, back = m["x"].shape[m["end"].axis], len(m["start"].places)
    return b.roll(m["x"], -back if 2 * back <= size else size - back, m["end"].axis)


def why_not_both(m: Match) -> str | None:
    """Each rolls one axis, and not the same one."""
    numbers = [m[name] for name in ("shift", "axis", "first_shift", "first_axis")]
    if not all(isinstance(number, int) for number in numbers):
        return "more than one axis is rolled already"
    return "both roll the same axis" if m["axis"] == m["first_axis"] else None


@fusion(
    roll(roll(Tensor("x"), Rest("first_shift"), Rest("first_axis")), Rest("shift"), Rest("axis")), check=why_not_both
)
def two_axes(b: Builder, m: Match) -> Value:
    """Two axes at once."""
    return b.roll(m["x"], (m["first_shift"], m["shift"]), (m["first_axis"], m["axis"]))
