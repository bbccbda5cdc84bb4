"""What gradients reach: the weights from which a model's outputs follow, in evaluation, and whether any is cut off on the way.

Changes no graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from migrate.graph.ir import Block, ByMode, Graph, Node, Value, tensors_in, walk

_STOPS = frozenset({"detach"})


def reached(graph: Graph) -> set[Value]:
    """Every value that a gradient of the outputs comes to, weights included."""
    found = {value for value in graph.outputs if _carries(value)}
    _follow(graph.nodes, found)
    return found


def cuts_gradients(graph: Graph) -> bool:
    """Whether the model stops a gradient by a trained weight on purpose, so that its gradient is no derivative."""
    found, depends = reached(graph), {v for v in graph.weights() if v.weight is not None and v.weight.trainable}
    for node in walk(graph.nodes):
        if depends.isdisjoint(node.tensors):
            continue
        if node.op.name in _STOPS and not found.isdisjoint(node.outputs):
            return True
        depends.update(node.outputs)
    return False


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
