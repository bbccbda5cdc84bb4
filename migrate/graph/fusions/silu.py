"""SiLU, also called swish.

%s = sigmoid(%x)       ->      %y = silu(%x)
%y = mul(%x, %s)
"""

from __future__ import annotations

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Tensor, call, either

x = Tensor("x")
mul, sigmoid = call("mul"), call("sigmoid")


@fusion(mul(x, sigmoid(either(mul(x, 1.0), x))))
def silu(b: Builder, m: Match) -> Value:
    """The input times its sigmoid; Paddle writes swish with its factor of 1."""
    return b.silu(m["x"])
