"""What each tensor of the source is for, by how it is used: trained parameter or buffer.

1. a running statistic of a normalisation -> buffer of that kind;
2. a float tensor of rank 1 or more in an argument that an op learns -> parameter;
3. anything else (indices, tables, masks, constants) -> buffer.

The op declarations say which arguments are which.
"""

from __future__ import annotations

from dataclasses import replace

from migrate.graph.ir import Graph, Node, Value, tensors_in
from migrate.graph.passes import Pass
from migrate.graph.weights import Role


def assign_roles(graph: Graph) -> int:
    """Set `weight.role` and `weight.kind` of every weight, and return how many are parameters."""
    learned: set[Value] = set()
    kinds: dict[Value, str] = {}
    for node in graph.nodes:
        _collect(node, learned, kinds)
    for value in graph.weights():
        assert value.weight is not None
        trained = value in learned and value not in kinds and value.is_float and value.rank > 0
        role: Role = "parameter" if trained and value.weight.source else "buffer"
        trainable = value.weight.trainable and role == "parameter"
        value.weight = replace(value.weight, role=role, trainable=trainable, kind=kinds.get(value, ""))
    return sum(1 for value in graph.weights() if value.weight and value.weight.role == "parameter")


def _collect(node: Node, learned: set[Value], kinds: dict[Value, str]) -> None:
    for position in node.op.learns:
        if position < len(node.args):
            learned.update(v for v in tensors_in(node.args[position]) if v.weight is not None)
    for position, kind in node.op.statistics:
        if position < len(node.args) and isinstance(node.args[position], Value):
            kinds[node.args[position]] = kind


ASSIGN_ROLES = Pass(name="assign_roles", run=assign_roles, requires=("separate_roles",), ensures=("roles",))
