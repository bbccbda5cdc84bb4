"""Taking nodes that a builder of its own made into a graph: free names, and sizes as they are written there."""

from __future__ import annotations

from collections.abc import Iterable

from migrate.graph.ir import Graph, Node, Value
from migrate.graph.sizes import Dim, SizeOf


def names_in(graph: Graph) -> set[str]:
    """Every name that a value of the graph has."""
    nodes = graph.all_nodes
    names = {value.name for value in (*graph.inputs, *graph.weights(), *(v for n in nodes for v in n.outputs))}
    return names | {value.name for node in nodes for block in node.blocks for value in block.inputs}


def sizes_of(values: Iterable[Value]) -> dict[Dim, Dim]:
    """The sizes of values, as they are written."""
    return {size: size for value in values for size in value.shape if isinstance(size, Dim)}


def graft(node: Node, names: set[str], sizes: dict[Dim, Dim]) -> None:
    """Give the outputs of a node free names, which `names` then has, and the `sizes` of the graph."""
    for value in node.outputs:
        name, count = value.name, 0
        while value.name in names:
            count += 1
            value.name = f"{name}_{count}"
        names.add(value.name)
        value.shape = tuple(
            sizes.get(s) or Dim(s.values, SizeOf(value, axis)) if isinstance(s, Dim) else s
            for axis, s in enumerate(value.shape)
        )
