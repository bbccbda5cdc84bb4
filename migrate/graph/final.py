"""The activation that an output of a graph ends in, and that `logits()` leaves out."""

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
