"""GLU: one half of a tensor, gated by the other.

    %a, %b = split(%x, (8, 8), dim=1)       ->      %y = glu(%x, 1)
    %s = sigmoid(%b)
    %y = mul(%a, %s)

SwiGLU and GeGLU have no call of their own: they read as `F.silu(gate) * up`.
"""

from __future__ import annotations

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Part, call

mul, sigmoid = call("mul"), call("sigmoid")


def why_not(m: Match) -> str | None:
    """The second half is the gate of the first."""
    axis, size = m["first"].axis, m["x"].shape[m["first"].axis]
    halves = (range(size // 2), range(size // 2, size))
    if m["second"].axis != axis or (m["first"].places, m["second"].places) != halves:
        return "these are not the first and the second half along one axis"
    return None


@fusion(mul(Part("x", "first"), sigmoid(Part("x", "second"))), check=why_not)
def glu(b: Builder, m: Match) -> Value:
    """The first half times the sigmoid of the second."""
    return b.glu(m["x"], m["first"].axis)
