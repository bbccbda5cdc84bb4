"""RMSNorm.

    %p = pow(%x, 2.0)                           ->      %y = rms_norm(%x, (64,), $w, 1e-06)
    %v = mean(%p, (2,), keepdim=True)
    %e = add(%v, 1e-06)
    %r = rsqrt(%e)
    %d = mul(%x, %r)
    %y = mul(%d, $w)

The axes are the last ones and of fixed size. A scale over just these axes joins it.
"""

from __future__ import annotations

from migrate.graph.affine import axes_of, fixed_sizes, last_sizes, over_root, vector_of, why_not_vector
from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Number, Rest, Tensor, call, square
from migrate.graph.scalars import is_learned_number, number_of, shortest

x, weight = Tensor("x"), Tensor("weight")
add, mul, mean, norm = map(call, ("add", "mul", "mean", "rms_norm"))

spread = add(mean(square(x), Rest("axes"), keepdim=True), Number("eps"))


def why_not(m: Match) -> str | None:
    """The axes have to be the last and fixed; the epsilon is no parameter."""
    if is_learned_number(m["eps"]):
        return "the epsilon would be trained"
    sizes = last_sizes(m["x"], axes_of(m["axes"], m["x"].rank))
    return sizes if isinstance(sizes, str) else None


@fusion(over_root(x, spread), check=why_not)
def plain(b: Builder, m: Match) -> Value:
    """Divided by the root of the mean square."""
    value: Value = m["x"]
    sizes = fixed_sizes(value, axes_of(m["axes"], value.rank))
    return b.rms_norm(value, sizes, None, shortest(number_of(m["eps"]) or 0.0))


def why_not_scale(m: Match) -> str | None:
    """The scale has to be a vector over the axes."""
    return why_not_vector(m, m["weight"], m["shape"], m.node_of("rms_norm"))


@fusion(mul(norm(x, Rest("shape"), None, Rest("fixed_eps")), weight), check=why_not_scale)
def with_scale(b: Builder, m: Match) -> Value:
    """A scale after it."""
    return b.rms_norm(m["x"], m["shape"], vector_of(b, m["weight"], m["shape"]), m["fixed_eps"])
