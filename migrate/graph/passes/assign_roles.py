"""What each tensor of the source is for, by how it is used: trained parameter or buffer.

1. a running statistic of a normalisation -> buffer of that kind;
2. a float tensor of rank 1 or more in an argument that an op learns, directly or moved (sliced, joined, expanded) first
   -> parameter;
3. such a tensor that is a mask, that is, added or multiplied only and with elements of -10000 and less -> buffer;
4. anything else (indices, tables, constants) -> buffer.

The op declarations say which arguments are which.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from migrate.graph.ir import Graph, Node, Value, tensors_in
from migrate.graph.passes import Pass
from migrate.graph.weights import Role

MASKED = -1e4  # exporters write minus infinity as this or less


@dataclass(slots=True)
class _Uses:
    """Values that are learned, those among them that are learned by more than arithmetic, and running statistics."""

    learned: set[Value] = field(default_factory=set[Value])
    layers: set[Value] = field(default_factory=set[Value])
    kinds: dict[Value, str] = field(default_factory=dict[Value, str])

    def collect(self, node: Node) -> None:
        """Add what a node does with its arguments; nodes come last first."""
        for position in node.op.learns:
            if position < len(node.args):
                self._learn(node.args[position], layer=node.op.family != "elementwise")
        for position, kind in node.op.statistics:
            if position < len(node.args) and isinstance(node.args[position], Value):
                self.kinds[node.args[position]] = kind
        if node.op.moves and not self.learned.isdisjoint(node.outputs):
            self._learn(node.args[0], layer=not self.layers.isdisjoint(node.outputs))

    def _learn(self, arg: object, layer: bool) -> None:
        values = set(tensors_in(arg))
        self.learned |= values
        if layer:
            self.layers |= values

    def role(self, value: Value) -> Role:
        """The role of a weight."""
        if value not in self.learned or value in self.kinds or not value.is_float or value.rank == 0:
            return "buffer"
        assert value.weight is not None
        return "buffer" if not value.weight.source or self._is_mask(value) else "parameter"

    def _is_mask(self, value: Value) -> bool:
        if value in self.layers or value.rank < 2:
            return False
        assert value.weight is not None
        array = value.weight.array()
        return bool(array.size and array.min() <= MASKED)


def assign_roles(graph: Graph) -> int:
    """Set `weight.role` and `weight.kind` of every weight, and return how many are parameters."""
    uses = _Uses()
    for node in reversed(graph.nodes):
        uses.collect(node)
    for value in graph.weights():
        assert value.weight is not None
        role = uses.role(value)
        trainable = value.weight.trainable and role == "parameter"
        value.weight = replace(value.weight, role=role, trainable=trainable, kind=uses.kinds.get(value, ""))
    return sum(1 for value in graph.weights() if value.weight and value.weight.role == "parameter")


ASSIGN_ROLES = Pass(name="assign_roles", run=assign_roles, requires=("separate_roles",), ensures=("roles",))
