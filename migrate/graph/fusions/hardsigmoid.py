"""Hard sigmoid, with the slope of 1/6 that torch has.

%a = add(%x, 3.0)           ->      %y = hardsigmoid(%x)
%c = clamp(%a, 0.0, 6.0)
%y = div(%c, 6.0)
"""

from __future__ import annotations

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Pattern, Tensor, call, either, product

x = Tensor("x")
add, mul, clamp, relu6, hardtanh = call("add"), call("mul"), call("clamp"), call("relu6"), call("hardtanh")
SIXTH = 1 / 6


def between(value: Pattern, low: float, high: float) -> Pattern:
    """The ways to write a clamp."""
    return either(clamp(value, low, high), clamp(value, min=low, max=high), hardtanh(value, low, high))


shifted = add(x, 3.0)
to_six = either(between(shifted, 0.0, 6.0), relu6(shifted))


@fusion(product(to_six, SIXTH), between(add(product(x, SIXTH), 0.5), 0.0, 1.0))
def hardsigmoid(b: Builder, m: Match) -> Value:
    """A line between 0 and 1."""
    return b.hardsigmoid(m["x"])
