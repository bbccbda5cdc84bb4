"""Space to depth by slices: the four pixels of each square become channels, as focal slicing and patch merging write it.

    %a = getitem(%x, (..., slice(0, None, 2), slice(0, None, 2)))       ->      %u = unflatten(%x, 3, (-1, 2))
    %b = getitem(%x, (..., slice(1, None, 2), slice(0, None, 2)))               %v = unflatten(%u, 2, (-1, 2))
    %c = getitem(%x, (..., slice(0, None, 2), slice(1, None, 2)))               %t = permute(%v, (0, 5, 3, 1, 2, 4))
    %d = getitem(%x, (..., slice(1, None, 2), slice(1, None, 2)))               %y = flatten(%t, 1, 3)
    %y = cat((%a, %b, %c, %d), dim=1)

Channels may be the second axis or the last, and the four pixels come by column or by row.
"""

from __future__ import annotations

from typing import Any

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Either, Rest, Tensor, call, either

cat, getitem = call("cat"), call("getitem")
NUMBERS = range(4)
WHOLE = slice(None)
EVERY_OTHER = (slice(None, None, 2), slice(0, None, 2), slice(1, None, 2))
ORDERS = {((0, 0), (1, 0), (0, 1), (1, 1)): True, ((0, 0), (0, 1), (1, 0), (1, 1)): False}
"""The places in a square, row and column, in the order in which they are joined; whether by column."""


def pixel(number: int) -> Either:
    """Every other row and column, in one slice or in two."""
    last = Rest(f"last_{number}")
    return either(getitem(getitem(Tensor("x"), Rest(f"first_{number}")), last), getitem(Tensor("x"), last))


def place_of(m: Match, number: int, spatial: tuple[int, int]) -> tuple[int, int] | None:
    """Which row and which column of a square a part takes; None where it takes anything else."""
    indices: list[Any] = [index for name in ("first", "last") if (index := m.get(f"{name}_{number}")) is not None]
    found: dict[int, int] = {}
    for index in indices:
        for axis, cut in enumerate(index if isinstance(index, tuple) else ()):
            if cut == WHOLE:
                continue
            if axis in found or cut not in EVERY_OTHER:
                return None
            found[axis] = cut.start or 0
    return (found[spatial[0]], found[spatial[1]]) if set(found) == set(spatial) else None


def axes_of(m: Match) -> tuple[int, tuple[int, int]]:
    """The axis of channels, and those of rows and columns."""
    channel = (m["axis"] or 0) % 4
    return channel, (1, 2) if channel == 3 else (2, 3)


def why_not(m: Match) -> str | None:
    """The four pixels of each square, once each, by column or by row."""
    if m["x"].rank != 4 or axes_of(m)[0] not in (1, 3):
        return "what is joined are not the channels of images"
    places = tuple(place_of(m, number, axes_of(m)[1]) for number in NUMBERS)
    return None if places in ORDERS else "the parts are not the four pixels of each square, by column or by row"


@fusion(cat(tuple(pixel(number) for number in NUMBERS), dim=Rest("axis")), check=why_not)
def space_to_depth(b: Builder, m: Match) -> Value:
    """Squares of four pixels as channels."""
    channel, (rows, columns) = axes_of(m)
    by_column = ORDERS[tuple(place_of(m, number, (rows, columns)) for number in NUMBERS)]  # pyright: ignore[reportArgumentType]
    split = b.unflatten(b.unflatten(m["x"], columns, (-1, 2)), rows, (-1, 2))
    pixels = (columns + 2, rows + 1) if by_column else (rows + 1, columns + 2)
    if channel == 1:
        return b.flatten(b.permute(split, (0, *pixels, 1, 2, 4)), 1, 3)
    return b.flatten(b.permute(split, (0, 1, 3, *pixels, 5)), 3)
