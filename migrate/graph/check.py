"""The verifier: what must hold of every graph, after every pass. Our own faults raise; they are no diagnostics."""

from __future__ import annotations

from migrate.graph.ir import Graph, Node, Value, size_leaves, sizes_in, tensors_in


class GraphError(Exception):
    """The graph is inconsistent: a pass or a frontend has a bug."""


def check(graph: Graph) -> None:
    """Raise where a value is used before it is made, made twice, named twice, or disowned by its node.

    Raises:
        GraphError: with the offending value or node.
    """
    made: set[Value] = set()
    for value in graph.inputs:
        _define(value, made)
    everything: set[Value] = set()
    _check_nodes(graph.nodes, made, everything)
    _check_outputs(graph.outputs, made)
    _check_names(graph, everything | made)


def _check_nodes(nodes: list[Node], made: set[Value], everything: set[Value]) -> None:
    """Check nodes in order; `made` grows by what they make, `everything` by what is made in blocks as well."""
    for node in nodes:
        _check_uses(node, made)
        if len(node.blocks) != node.op.blocks:
            raise GraphError(f"`{node.op.name}` holds {len(node.blocks)} blocks instead of {node.op.blocks}")
        for block in node.blocks:
            inside = set(made)
            for value in block.inputs:
                _define(value, inside)
            _check_nodes(block.nodes, inside, everything)
            _check_outputs(block.outputs, inside)
            if everything & (inside - made):
                raise GraphError(f"two blocks of `{node.op.name}` or blocks in them make one value")
            everything |= inside - made
        for value in node.outputs:
            if value.node is not node:
                raise GraphError(f"{value} is an output of `{node.op.name}` but names another node as its maker")
            _define(value, made)


def _check_outputs(outputs: list[Value], made: set[Value]) -> None:
    for value in outputs:
        if value not in made and value.weight is None:
            raise GraphError(f"output {value} is never computed")


def _define(value: Value, made: set[Value]) -> None:
    if value in made:
        raise GraphError(f"{value} is made twice")
    made.add(value)


def _check_uses(node: Node, made: set[Value]) -> None:
    place = f"`{node.op.name}` from {', '.join(node.origin) or 'nowhere'}"
    for value in tensors_in((node.args, node.kwargs)):
        if value not in made and value.weight is None:
            raise GraphError(f"{place} uses {value} before it is made")
    for size in sizes_in((node.args, node.kwargs)):
        for leaf in size_leaves(size):
            if leaf.value not in made:
                raise GraphError(f"{place} uses the size of {leaf.value} before it is made")


def _check_names(graph: Graph, made: set[Value]) -> None:
    names: dict[str, Value] = {}
    for value in [*made, *graph.weights()]:
        other = names.setdefault(value.name, value)
        if other is not value:
            raise GraphError(f"{value} and {other} have one name")
