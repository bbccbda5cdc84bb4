"""Rotary positions: each pair of features is turned by its angle.

    %a = getitem(%x, (..., slice(None, 4, None)))       ->      %y = rotary(%x, %cos, %sin)
    %b = getitem(%x, (..., slice(4, None, None)))
    %n = neg(%b)
    %t = cat((%n, %a), dim=-1)
    %c = mul(%x, %cos)
    %s = mul(%t, %sin)
    %y = add(%c, %s)

A pair is a feature and that half the width further, or two neighbours. Cosine and sine may be anything: no more is asked of
them than of factors.
"""

from __future__ import annotations

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.parts import span
from migrate.graph.pattern import Rest, Tensor, call, either

add, mul, cat, stack, reshape, flatten = map(call, ("add", "mul", "cat", "stack", "reshape", "flatten"))
x, parts, joined = Tensor("x"), Rest("parts"), Rest("joined")
halves = cat(parts, dim=Rest("axis"))
pairs = either(cat(parts, dim=Rest("pair_axis")), stack(parts, dim=Rest("stack_axis")))
neighbours = either(reshape(pairs, joined), flatten(pairs, joined))


def features(part: Value, whole: Value) -> range | None:
    """Which features of the whole a part of it holds, where it is a part along the last axis."""
    found = span(part)
    return found.places if found and found.whole is whole and found.axis == whole.rank - 1 else None


def pair_of(m: Match) -> tuple[Value, Value] | str:
    """The second and the first features of all pairs, where the one's negative is put before the other."""
    given: tuple[Value, ...] = tuple(m["parts"])
    if len(given) != 2:
        return "not two tensors are joined"
    rank: int = m["x"].rank
    axis = next(axis for name in ("axis", "pair_axis", "stack_axis") if (axis := m.get(name)) is not None)
    if axis not in (-1, given[0].rank - 1 if m.get("stack_axis") is None else rank):
        return "they are joined along another axis"
    if m.get("pair_axis") is not None:
        if not all(part.node is not None and part.node.op.name == "unsqueeze" for part in given):
            return "the joined tensors are not features of one pair each"
        given = tuple(part.node.args[0] for part in given if part.node is not None)
    second, first = given
    if second.node is None or second.node.op.name != "neg":
        return "the first of the joined tensors is no negative"
    return second.node.args[0], first


def why_not(m: Match) -> str | None:
    """What is joined are the second features of all pairs, negated, and the first ones, in the order of the input."""
    found = pair_of(m)
    if isinstance(found, str):
        return found
    value: Value = m["x"]
    width = value.shape[-1]
    if not isinstance(width, int) or m.output.shape != value.shape:
        return "the width is not fixed, or the result has another shape"
    wanted = (
        (range(width // 2, width), range(width // 2))
        if m.get("joined") is None
        else (range(1, width, 2), range(0, width, 2))
    )
    got = tuple(features(part, value) for part in found)
    return None if got == wanted else f"what is turned is not %{value.name} in pairs"


@fusion(add(mul(x, Tensor("cos")), mul(either(halves, neighbours), Tensor("sin"))), check=why_not)
def rotary(b: Builder, m: Match) -> Value:
    """Pairs of features turned by their angles."""
    given = (m["x"], m["cos"], m["sin"])
    return b.rotary(*given) if m.get("joined") is None else b.rotary(*given, interleaved=True)
