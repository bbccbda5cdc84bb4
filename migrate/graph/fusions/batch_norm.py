"""BatchNorm, guessed from a scale and a shift per channel after a convolution; runs only where it is asked for.

    %g = mul(%conv, $w)      ->      %y = batch_norm(%conv, $mean, $var, $w, $b, training=False, momentum=0.1, eps=1e-05)
    %y = add(%g, $b)

Exporters fold the statistics into the two factors, and nobody can tell them apart again. So the mean is 0 and the variance 1
less epsilon: evaluation is the same, and training too as long as statistics are frozen.
"""

from __future__ import annotations

import numpy as np

from migrate.graph.affine import channels_of, vector_of, why_not_pair, why_not_vector
from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Tensor, call
from migrate.graph.weights import Weight

EPS, MOMENTUM = 1e-5, 0.1
CONVOLUTIONS = {f"conv{'_transpose' * turned}{axes}d" for turned in (False, True) for axes in (1, 2, 3)}
add, mul = call("add"), call("mul")


def why_not(m: Match) -> str | None:
    """What is scaled comes from a convolution; scale and shift are a number per channel, and used here alone."""
    x: Value = m["x"]
    if x.node is None or x.node.op.name not in CONVOLUTIONS:
        return "what is scaled comes from no convolution"
    if any(isinstance(m[name], Value) and m.users(m[name]) > 1 for name in ("weight", "bias")):
        return "the scale or the shift is used elsewhere"
    wrong = (why_not_vector(m, m[name], channels_of(x), x.node, x.rank - 2) for name in ("weight", "bias"))
    return next(filter(None, wrong), None) or why_not_pair(m["weight"], m["bias"])


def _statistic(like: Value, kind: str, sizes: tuple[int, ...], content: float) -> Value:
    """A running statistic that the source does not have."""
    array = np.full(sizes, content, like.dtype)
    weight = Weight(
        source="", read=lambda: array, source_shape=array.shape, role="buffer", trainable=False, kind=kind
    )  # fmt: skip
    return Value(f"{like.name}.{kind}", like.dtype, sizes, weight=weight)


@fusion(add(mul(Tensor("x"), Tensor("weight")), Tensor("bias")), check=why_not, inferred=True)
def batch_norm(b: Builder, m: Match) -> Value:
    """A scale and a shift per channel after a convolution."""
    sizes = channels_of(m["x"])
    weight, bias = (vector_of(b, m[name], sizes) for name in ("weight", "bias"))
    mean, variance = _statistic(bias, "running_mean", sizes, 0.0), _statistic(bias, "running_var", sizes, 1 - EPS)
    return b.batch_norm(m["x"], mean, variance, weight, bias, training=False, momentum=MOMENTUM, eps=EPS)
