"""Softplus.

    %e = exp(%x)           ->      %y = softplus(%x)
    %a = add(%e, 1.0)
    %y = log(%a)

torch passes inputs above 20 through, where a float32 sees no difference; the pieces overflow above 88.
"""

from __future__ import annotations

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Tensor, call

x = Tensor("x")
add, exp, log, log1p = call("add"), call("exp"), call("log"), call("log1p")


def only_float32(m: Match) -> str | None:
    """A float64 sees the difference above 20."""
    return "a float64 sees where torch's softplus stops being exact" if m["x"].dtype == "float64" else None


@fusion(log(add(exp(x), 1.0)), log1p(exp(x)), check=only_float32)
def softplus(b: Builder, m: Match) -> Value:
    """The logarithm of one plus the exponential."""
    return b.softplus(m["x"])
