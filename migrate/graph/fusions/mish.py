"""Mish.

%s = softplus(%x)      ->      %y = mish(%x)
%t = tanh(%s)
%y = mul(%x, %t)
"""

from __future__ import annotations

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Tensor, call

x = Tensor("x")
mul, tanh, softplus = call("mul"), call("tanh"), call("softplus")


@fusion(mul(x, tanh(softplus(x))))
def mish(b: Builder, m: Match) -> Value:
    """The input times the hyperbolic tangent of its softplus."""
    return b.mish(m["x"])
