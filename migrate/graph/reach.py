"""What gradients reach: the weights from which a model's outputs follow, in evaluation.

Changes no graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from migrate.graph.ir import Block, ByMode, Graph, Node, Value, tensors_in

_STOPS = frozenset({"detach"})


def reached(graph: Graph) -> set[Value]:
    """Every value that a gradient of the outputs comes to, weights included."""
    found = {value for value in graph.outputs if _carries(value)}
    _follow(graph.nodes, found)
    return found


def _follow(nodes: Sequence[Node], found: set[Value]) -> None:
    """Go from what is found back to what it is made of; a later iteration of a loop may find more."""
    for node in reversed(nodes):
        if node.op.name in _STOPS or found.isdisjoint(node.outputs):
            continue
        found.update(_carrying(tensors_in((node.args, node.kwargs))))
        size = -1
        while node.blocks and size != len(found):
            size = len(found)
            for block in _run_in_evaluation(node):
                found.update(_carrying(block.outputs))
                _follow(block.nodes, found)


def _run_in_evaluation(node: Node) -> Sequence[Block]:
    follows_mode = node.op.name == "if_" and isinstance(node.args[0], ByMode)
    return node.blocks[1:] if follows_mode else node.blocks


def _carrying(values: Iterable[Value]) -> list[Value]:
    return [value for value in values if _carries(value)]


def _carries(value: Value) -> bool:
    return value.is_float or "complex" in value.dtype
