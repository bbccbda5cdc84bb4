"""Division by a length, which is at least epsilon.

    %n = vector_norm(%x, 2, (1,), keepdim=True)     ->      %y = normalize(%x, dim=1)
    %c = clamp(%n, 1e-12)
    %y = div(%x, %c)

The length may be written as the root of a sum of squares. Without a least length a vector of zeros would be another thing.
"""

from __future__ import annotations

from typing import Any

from migrate.graph.affine import axes_of
from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Number, Rest, Tensor, call, either, square
from migrate.graph.scalars import is_learned_number, number_of, shortest

x, axes, least = Tensor("x"), Rest("axes"), Number("least")
div, clamp, maximum, expand = map(call, ("div", "clamp", "maximum", "expand"))
length = either(
    call("vector_norm")(x, 2, dim=axes, keepdim=True),
    call("sqrt")(call("sum")(square(x), axes, keepdim=True)),
)
bounded = either(clamp(length, least), clamp(length, min=least), maximum(length, least))


def why_not(m: Match) -> str | None:
    """The length is over one axis, or over several that torch takes as well; the least length is no parameter."""
    if is_learned_number(m["least"]):
        return "the least length would be trained"
    return None if m["axes"] is not None else "the length is over all axes"


@fusion(div(x, either(bounded, expand(bounded, Rest("sizes")))), check=why_not)
def normalize(b: Builder, m: Match) -> Value:
    """Vectors of length 1."""
    value: Value = m["x"]
    found = axes_of(m["axes"], value.rank)
    named: dict[str, Any] = {"dim": found[0] if len(found) == 1 else found}
    eps = shortest(number_of(m["least"]) or 0.0)
    return b.normalize(value, **named, **({} if eps == 1e-12 else {"eps": eps}))
