"""Who uses the values of a graph, kept up to date while nodes come and go. Counts nothing anew: each change costs its node."""

from __future__ import annotations

from collections.abc import Iterable

from migrate.graph.ir import Graph, Node, Value, own_uses, size_leaves, sizes_in, walk

Users = dict[Value, dict[Node, None]]


class Uses:
    """The nodes that use a value as a tensor, and those that use a size of it; in order, each once.

    What a block gives is used by the node that holds the block.
    """

    def __init__(self, graph: Graph) -> None:
        self.tensors: Users = {}
        self.sizes: Users = {}
        for node in walk(graph.nodes):
            self.add(node)

    def of(self, value: Value) -> list[Node]:
        """The nodes that use it as a tensor."""
        return list(self.tensors.get(value, ()))

    def any_of(self, value: Value) -> bool:
        """Whether a node uses it or a size of it."""
        return bool(self.tensors.get(value) or self.sizes.get(value))

    def add(self, node: Node) -> None:
        """Count what a new node uses itself; those in its blocks count for themselves."""
        for users, values in self._of(node):
            for value in values:
                users.setdefault(value, {})[node] = None

    def remove(self, node: Node) -> None:
        """Forget a node that holds no blocks."""
        for users, values in self._of(node):
            for value in values:
                users.get(value, {}).pop(node, None)

    def move(self, old: Value, new: Value) -> None:
        """Let those that use one value as a tensor use another."""
        self.tensors.setdefault(new, {}).update(self.tensors.pop(old, {}))

    def _of(self, node: Node) -> Iterable[tuple[Users, Iterable[Value]]]:
        leaves = [leaf.value for size in sizes_in((node.args, node.kwargs)) for leaf in size_leaves(size)]
        return (self.tensors, own_uses(node)), (self.sizes, leaves)
