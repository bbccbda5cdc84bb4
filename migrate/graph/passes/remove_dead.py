"""Dead code: nodes whose outputs nothing uses.

    %a = relu(%x)          ->      %b = sigmoid(%x)
    %b = sigmoid(%x)               return %b
    return %b

A node stays while a later node asks for a size of its output.
"""

from __future__ import annotations

from migrate.graph.ir import Graph, Node, Value
from migrate.graph.passes import Pass


def remove_dead(graph: Graph) -> int:
    """Remove them, last first, and return how many."""
    used: set[Value] = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if used.isdisjoint(node.outputs):
            continue
        kept.append(node)
        used.update(node.inputs)
    removed = len(graph.nodes) - len(kept)
    graph.nodes = kept[::-1]
    return removed


REMOVE_DEAD = Pass(name="remove_dead", run=remove_dead, ensures=("no_dead_code",))
