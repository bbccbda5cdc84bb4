"""Dead code: nodes whose outputs nothing uses.

    %a = relu(%x)          ->      %b = sigmoid(%x)
    %b = sigmoid(%x)               return %b
    return %b

A node stays while a later node asks for a size of its output, or where it changes what the model holds. Blocks of what
stays lose their own dead nodes.
"""

from __future__ import annotations

from migrate.graph.ir import Graph, Node, Value
from migrate.graph.passes import Pass


def remove_dead(graph: Graph) -> int:
    """Remove them, last first, and return how many."""
    before = len(graph.all_nodes)
    graph.nodes = _living(graph.nodes, set(graph.outputs))
    return before - len(graph.all_nodes)


def _living(nodes: list[Node], used: set[Value]) -> list[Node]:
    """The nodes that make what is used; `used` grows by what they use."""
    kept: list[Node] = []
    for node in reversed(nodes):
        if used.isdisjoint(node.outputs) and not node.has_effect:
            continue
        for block in node.blocks:
            block.nodes = _living(block.nodes, used | set(block.outputs))
        kept.append(node)
        used.update(node.inputs)
    return kept[::-1]


REMOVE_DEAD = Pass(name="remove_dead", run=remove_dead, ensures=("no_dead_code",))
