"""What a node of an exported program is: a size, a copy, a change in place, a layer's count. Knows torch.fx only."""

from __future__ import annotations

import operator
from typing import Any

_SAME = ("contiguous", "clone", "alias")


def short_name(node: Any) -> str:
    """`relu_` of `aten.relu_.default`."""
    packet = getattr(node.target, "overloadpacket", None)
    return str(packet).rpartition(".")[2] if packet is not None else getattr(node.target, "__name__", str(node.target))


def is_size(node: Any) -> bool:
    """Whether a node computes a size or checks one."""
    if node.op != "call_function":
        return False
    if short_name(node).startswith(("sym_", "_assert")):
        return True
    return not hasattr(node.target, "_schema") and node.target is not operator.getitem and not is_higher_order(node)


def is_higher_order(node: Any) -> bool:
    """Whether a node's operator takes graphs, as `cond` does."""
    import torch

    return isinstance(node.target, torch._ops.HigherOrderOperator)


def counter_of(node: Any) -> Any:
    """The count of the batches that a normalisation has seen, where a node adds to it; one that is called again adds again."""
    counted = node
    while counted.op == "call_function" and short_name(counted) == "add_":
        counted = counted.args[0]
    return counted if counted is not node and "num_batches_tracked" in str(counted) else None


def counts_batches(node: Any) -> bool:
    """Whether a node counts the batches that a normalisation has seen."""
    return counter_of(node) is not None


def written(node: Any) -> Any:
    """What a node writes into: its first argument where it works in place, or its `out`; None for most."""
    if node.op != "call_function":
        return None
    if short_name(node).endswith("_") and not short_name(node).endswith("__"):
        return node.args[0] if node.args else None
    return node.kwargs.get("out")


def is_same(node: Any) -> bool:
    """Whether a node gives what it is given, in memory of its own at most."""
    return node.op == "call_function" and short_name(node) in _SAME


def origin_of(node: Any) -> Any:
    """The node whose value a node passes on."""
    while is_same(node):
        node = node.args[0]
    return node


def inner_graphs(node: Any) -> list[Any]:
    """The graph modules that an operator takes."""
    owner = node.graph.owning_module
    found = [getattr(owner, str(n.target), None) for n in node.all_input_nodes if n.op == "get_attr"]
    return [g for g in found if hasattr(g, "graph")]


def has_effect(node: Any) -> bool:
    """Whether a node changes what it is given, or takes a graph that does."""
    return written(node) is not None or any(has_effect(n) for g in inner_graphs(node) for n in g.graph.nodes)
