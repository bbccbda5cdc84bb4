"""LayerNorm.

    %m = mean(%x, (2,), keepdim=True)           ->      %y = layer_norm(%x, (64,), $w, $b, 1e-05)
    %c = sub(%x, %m)
    %p = pow(%c, 2.0)
    %v = mean(%p, (2,), keepdim=True)
    %e = add(%v, 1e-05)
    %s = sqrt(%e)
    %d = div(%c, %s)
    %g = mul(%d, $w)
    %y = add(%g, $b)

The axes are the last ones and of fixed size. A scale and a shift over just these axes join it, one after the other.
"""

from __future__ import annotations

from migrate.graph.affine import (
    axes_of,
    fixed_sizes,
    inverse_root,
    last_sizes,
    over_root,
    vector_of,
    why_not_pair,
    why_not_vector,
)
from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Number, Rest, Tensor, call, either, square
from migrate.graph.scalars import is_learned_number, number_of, shortest

x, weight, bias = Tensor("x"), Tensor("weight"), Tensor("bias")
shape, scale, fixed_eps = Rest("shape"), Rest("scale"), Rest("fixed_eps")
add, sub, mul, neg, mean, var, norm = map(call, ("add", "sub", "mul", "neg", "mean", "var", "layer_norm"))

average = mean(x, Rest("axes"), keepdim=True)
centred = sub(x, average)
variance = either(
    mean(square(centred), Rest("axes_of_squares"), keepdim=True),
    var(x, Rest("axes_of_squares"), correction=0, keepdim=True),
    var(x, Rest("axes_of_squares"), unbiased=False, keepdim=True),
)
spread = add(variance, Number("eps"))
factor = mul(inverse_root(spread), weight)  # tf.nn.batch_normalization, in which Keras writes it
shift = add(bias, mul(neg(average), factor))  # the same, as Keras 3 writes it


def why_not(m: Match) -> str | None:
    """The axes have to be the same twice, the last and fixed; the epsilon is no parameter."""
    value: Value = m["x"]
    axes = axes_of(m["axes"], value.rank)
    if axes != axes_of(m["axes_of_squares"], value.rank):
        return f"the mean is over the axes {axes}, the variance over others"
    if is_learned_number(m["eps"]):
        return "the epsilon would be trained"
    sizes = last_sizes(value, axes)
    return sizes if isinstance(sizes, str) else None


def sizes_of(m: Match) -> tuple[int, ...]:
    """What is normalised over."""
    value: Value = m["x"]
    return fixed_sizes(value, axes_of(m["axes"], value.rank))


def eps_of(m: Match) -> float:
    """The epsilon."""
    return shortest(number_of(m["eps"]) or 0.0)


@fusion(over_root(centred, spread), check=why_not)
def plain(b: Builder, m: Match) -> Value:
    """Centred and divided by the deviation."""
    return b.layer_norm(m["x"], sizes_of(m), None, None, eps_of(m))


def why_not_factored(m: Match) -> str | None:
    """As `why_not`, and what scales and shifts has to be vectors over the axes."""
    wrong = why_not(m)
    vectors = [m[name] for name in ("weight", "bias") if m.get(name) is not None]
    for value in () if wrong else vectors:
        wrong = wrong or why_not_vector(m, value, sizes_of(m), m.root)
    return wrong or (why_not_pair(*vectors) if len(vectors) == 2 else None)


@fusion(add(mul(x, factor), either(sub(bias, mul(average, factor)), shift)), check=why_not_factored)
def factored(b: Builder, m: Match) -> Value:
    """Scaled and shifted by what the scale, the shift and the statistics come to, as Keras does."""
    sizes = sizes_of(m)
    vectors = [vector_of(b, m[name], sizes) for name in ("weight", "bias")]
    return b.layer_norm(m["x"], sizes, *vectors, eps_of(m))


@fusion(over_root(mul(weight, centred), spread), check=why_not_factored)
def scaled_first(b: Builder, m: Match) -> Value:
    """Centred, scaled, and divided by the deviation."""
    sizes = sizes_of(m)
    return b.layer_norm(m["x"], sizes, vector_of(b, m["weight"], sizes), None, eps_of(m))


def why_not_scale(m: Match) -> str | None:
    """The scale has to be a vector over the axes."""
    return why_not_vector(m, m["weight"], m["shape"], m.node_of("layer_norm"))


@fusion(mul(norm(x, shape, None, None, fixed_eps), weight), check=why_not_scale)
def with_scale(b: Builder, m: Match) -> Value:
    """A scale after it."""
    return b.layer_norm(m["x"], m["shape"], vector_of(b, m["weight"], m["shape"]), None, m["fixed_eps"])


def why_not_shift(m: Match) -> str | None:
    """The shift has to be a vector over the axes, and not the scale's own."""
    wrong = why_not_vector(m, m["bias"], m["shape"], m.node_of("layer_norm"))
    return wrong or why_not_pair(m["scale"], m["bias"])


@fusion(add(norm(x, shape, scale, None, fixed_eps), bias), check=why_not_shift)
def with_shift(b: Builder, m: Match) -> Value:
    """A shift after it."""
    return b.layer_norm(m["x"], m["shape"], m["scale"], vector_of(b, m["bias"], m["shape"]), m["fixed_eps"])
