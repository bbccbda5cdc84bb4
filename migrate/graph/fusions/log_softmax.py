"""Logarithm of a softmax.

    %s = softmax(%x, dim=-1)        ->      %y = log_softmax(%x, dim=-1)
    %y = log(%s)

Where the softmax underflows the pieces give minus infinity and no gradient; the one call stays finite.
"""

from __future__ import annotations

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Rest, Tensor, call

log, softmax = call("log"), call("softmax")


@fusion(log(softmax(Tensor("x"), dim=Rest("axis"))))
def log_softmax(b: Builder, m: Match) -> Value:
    """The logarithm of the shares."""
    return b.log_softmax(m["x"], dim=m["axis"])
