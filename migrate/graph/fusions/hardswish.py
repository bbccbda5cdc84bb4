"""Hard swish.

%a = add(%x, 3.0)           ->      %y = hardswish(%x)
%c = clamp(%a, 0.0, 6.0)
%m = mul(%x, %c)
%y = div(%m, 6.0)
"""

from __future__ import annotations

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.fusions.hardsigmoid import SIXTH, to_six, x
from migrate.graph.ir import Value
from migrate.graph.pattern import call, product

mul, of_x = call("mul"), call("hardsigmoid")


@fusion(product(x, to_six, SIXTH), mul(x, of_x(x)))
def hardswish(b: Builder, m: Match) -> Value:
    """The input times its hard sigmoid."""
    return b.hardswish(m["x"])
