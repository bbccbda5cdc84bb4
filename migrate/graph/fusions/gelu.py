"""GELU, by the error function or by the hyperbolic tangent.

    %d = div(%x, 1.4142135)     ->      %y = gelu(%x)
    %e = erf(%d)
    %a = add(%e, 1.0)
    %m = mul(%x, %a)
    %y = mul(%m, 0.5)

The quick form, x * sigmoid(1.702 * x), is another function and has no call in torch.
"""

from __future__ import annotations

import math

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Tensor, call, either, product

x = Tensor("x")
add, mul, erf, tanh, power = call("add"), call("mul"), call("erf"), call("tanh"), call("pow")
CUBIC = 0.044715
SLOPE = math.sqrt(2 / math.pi)

cube = either(power(x, 3.0), product(x, x, x), mul(x, call("square")(x)), mul(x, power(x, 2.0)))
inner = add(x, either(mul(cube, CUBIC), product(x, x, x, CUBIC)))
factored = product(x, SLOPE, add(1.0, either(mul(either(mul(x, x), power(x, 2.0)), CUBIC), product(x, x, CUBIC))))


@fusion(product(x, 0.5, add(1.0, erf(product(x, 1 / math.sqrt(2))))))
def gelu(b: Builder, m: Match) -> Value:
    """The input times the normal distribution's cumulative function."""
    return b.gelu(m["x"])


@fusion(product(x, 0.5, add(1.0, tanh(either(product(inner, SLOPE), factored)))))
def gelu_tanh(b: Builder, m: Match) -> Value:
    """The approximation by a hyperbolic tangent."""
    return b.gelu(m["x"], approximate="tanh")
