"""Attention in which several heads of queries share one head of keys and values.

    %u = unsqueeze(%k, 2)                               ->      %y = sdpa(%q, %k, %v, enable_gqa=True)
    %e = expand(%u, (-1, -1, 4, -1, -1))
    %r = reshape(%e, (%k.shape[0], 8, 16, 32))
    ... the same with %v becomes %w ...
    %y = sdpa(%q, %r, %w)

torch repeats each head as often as there are queries for it; the copies are never kept.
"""

from __future__ import annotations

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Either, Rest, Tensor, call, either
from migrate.graph.sizes import equal

NAMES = ("attn_mask", "dropout_p", "is_causal", "scale")
unsqueeze, expand, reshape, flatten, repeat = map(
    call, ("unsqueeze", "expand", "reshape", "flatten", "repeat_interleave")
)


def shared(name: str) -> Either:
    """The ways to repeat the heads of keys or values."""
    wide = expand(unsqueeze(Tensor(name), 2), Rest(f"{name}_sizes"))
    return either(
        reshape(wide, Rest(f"{name}_shape")),
        flatten(wide, 1, 2),
        repeat(Tensor(name), Rest(f"{name}_times"), dim=1),
        repeat(Tensor(name), Rest(f"{name}_times"), 1),
    )


def why_not(m: Match) -> str | None:
    """Both have as many heads, each is repeated for as many neighbouring heads of queries, and nothing else is."""
    q, (wide_k, wide_v) = m["q"], m.node_of("sdpa").args[1:3]
    if any(value.rank != 4 for value in (q, m["k"], m["v"])):
        return "queries, keys and values do not have four axes"
    if not equal(wide_k.shape[1], q.shape[1]) or not equal(m["k"].shape[1], m["v"].shape[1]):
        return "the heads of queries, keys and values do not fit"
    for wide, narrow in ((wide_k, m["k"]), (wide_v, m["v"])):
        if not _repeats(wide, narrow):
            return f"what is repeated of %{narrow.name} are not its heads, one by one"
    return None


def _repeats(wide: Value, narrow: Value) -> bool:
    """Whether there are copies of each head behind it, and no other axis is longer."""
    assert wide.node is not None
    before: Value = wide.node.args[0]
    if before is narrow:
        return True  # repeat_interleave
    samples, heads, _, *rest = before.shape
    return (samples, heads, *rest) == narrow.shape and (wide.shape[0], *wide.shape[2:]) == (samples, *rest)


@fusion(call("sdpa")(Tensor("q"), shared("k"), shared("v"), **{name: Rest(name) for name in NAMES}), check=why_not)
def grouped_query(b: Builder, m: Match) -> Value:
    """Heads of keys and values that several heads of queries share."""
    given = {name: m[name] for name in NAMES if m[name] is not None}
    return b.sdpa(m["q"], m["k"], m["v"], **given, enable_gqa=True)
