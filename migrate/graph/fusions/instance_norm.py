"""InstanceNorm.

    %m = mean(%x, (2, 3), keepdim=True)         ->      %y = instance_norm(%x, None, None, $w, $b, eps=1e-05)
    %c = sub(%x, %m)
    %p = pow(%c, 2.0)
    %v = mean(%p, (2, 3), keepdim=True)
    %e = add(%v, 1e-05)
    %s = sqrt(%e)
    %d = div(%c, %s)
    %g = mul(%d, $w)
    %y = add(%g, $b)

The axes are all but samples and channels, two or more. A scale and a shift per channel join it, one after the other.
"""

from __future__ import annotations

from migrate.graph.affine import axes_of, channels_of, over_root, vector_of, why_not_pair, why_not_vector
from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.fusions.layer_norm import centred, eps_of, spread
from migrate.graph.ir import Value
from migrate.graph.pattern import Rest, Tensor, call
from migrate.graph.scalars import is_learned_number

x, scale, eps = Tensor("x"), Rest("scale"), Rest("fixed_eps")
add, mul, norm = map(call, ("add", "mul", "instance_norm"))


def why_not(m: Match) -> str | None:
    """The axes are the spatial ones, twice; the epsilon is no parameter."""
    value: Value = m["x"]
    spatial = tuple(range(2, value.rank))
    if len(spatial) < 2 or {axes_of(m[name], value.rank) for name in ("axes", "axes_of_squares")} != {spatial}:
        return "the axes are not all but samples and channels"
    return "the epsilon would be trained" if is_learned_number(m["eps"]) else None


@fusion(over_root(centred, spread), check=why_not)
def plain(b: Builder, m: Match) -> Value:
    """Centred and divided by the deviation, channel by channel."""
    return b.instance_norm(m["x"], eps=eps_of(m))


def why_not_scale(m: Match) -> str | None:
    """The scale has to be a number per channel."""
    value: Value = m["x"]
    return why_not_vector(m, m["weight"], channels_of(value), m.node_of("instance_norm"), value.rank - 2)


@fusion(mul(norm(x, eps=eps), Tensor("weight")), check=why_not_scale)
def with_scale(b: Builder, m: Match) -> Value:
    """A scale after it."""
    weight = vector_of(b, m["weight"], channels_of(m["x"]))
    return b.instance_norm(m["x"], None, None, weight, eps=1e-5 if m["fixed_eps"] is None else m["fixed_eps"])


def why_not_shift(m: Match) -> str | None:
    """The shift has to be a number per channel, and not the scale's own."""
    value: Value = m["x"]
    wrong = why_not_vector(m, m["bias"], channels_of(value), m.node_of("instance_norm"), value.rank - 2)
    return wrong or why_not_pair(m["scale"], m["bias"])


@fusion(add(norm(x, None, None, scale, eps=eps), Tensor("bias")), check=why_not_shift)
def with_shift(b: Builder, m: Match) -> Value:
    """A shift after it."""
    bias = vector_of(b, m["bias"], channels_of(m["x"]))
    return b.instance_norm(m["x"], None, None, m["scale"], bias, eps=1e-5 if m["fixed_eps"] is None else m["fixed_eps"])
