"""What an output of a graph ends in: the activation that `logits()` leaves out, or a probability on its way out."""

from __future__ import annotations

from collections.abc import Container

from migrate.graph.ir import Node, Value


def final_activation(output: Value, users: Container[Value]) -> Node | None:
    """The node, where its result is the output alone and what it takes is computed.

    Args:
        output: An output of the graph.
        users: The values that nodes use, such as `graph.users()`.
    """
    node = output.node
    if node is None or node.op.loss is None or output in users:
        return None
    taken = node.args[0]
    return node if isinstance(taken, Value) and taken.weight is None else None


def is_probability(value: Value) -> bool:
    """Whether it is what a sigmoid or softmax gives, moved or averaged, whichever branch gives it."""
    node = value.node
    if node is None:
        return False
    if node.op.name == "if_":
        place = node.outputs.index(value)
        return all(is_probability(block.outputs[place]) for block in node.blocks)
    if node.op.moves or node.op.name == "mean":
        return isinstance(node.args[0], Value) and is_probability(node.args[0])
    return node.op.name in ("sigmoid", "softmax")
