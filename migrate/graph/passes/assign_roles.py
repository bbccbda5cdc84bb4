"""What each tensor of the source is for, by how it is used: trained parameter or buffer.

1. a running statistic of a normalisation -> buffer of that kind;
2. a float tensor of rank 1 or more in an argument that an op learns, directly or moved (sliced, joined, expanded) first
   -> parameter;
3. a float tensor from which, with other tensors of the source alone, such an argument is computed (the direction and the
   length of a normalised weight, a scale's logarithm; not what is under a sine, which is a table) -> parameter;
4. a float attribute of a module that is subtracted, divided by, an exponent, a choice, an initial state or what a
   layer takes, away from the model's inputs (where it would be the data's mean or deviation) -> parameter;
5. of these, in arithmetic only: a mask (elements of -10000 and less), the frequencies of a sine (a geometric series), and
   what an exporter wrote down (one number, or a state of zeros) -> buffer;
6. anything else (indices, tables, constants) -> buffer.

A tensor that the source's own modules hold has the role that they give it. The op declarations say which arguments are
which.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from migrate.graph.ir import Graph, Node, Value, tensors_in
from migrate.graph.passes import Pass
from migrate.graph.weights import Array, Role

MASKED = -1e4  # exporters write minus infinity as this or less
TABLES = ("sin", "cos")
STATISTIC = re.compile(r"(mean|std|var|eps|epsilon)$")


@dataclass(slots=True)
class _Uses:
    """Values that are learned, those among them that are learned by more than arithmetic, and running statistics."""

    learned: set[Value] = field(default_factory=set[Value])
    layers: set[Value] = field(default_factory=set[Value])
    kinds: dict[Value, str] = field(default_factory=dict[Value, str])
    constant: set[Value] = field(default_factory=set[Value])
    raw: set[Value] = field(default_factory=set[Value])
    added: set[Value] = field(default_factory=set[Value])

    def collect_all(self, nodes: list[Node]) -> None:
        """Add what nodes do with their arguments, last first: what control flow gives, before what is in its blocks."""
        for node in reversed(nodes):
            self.collect(node)
            for block in node.blocks:
                conditions = len(block.outputs) - len(node.outputs)  # a loop's comes first
                self._pass_on(node.outputs, block.outputs[conditions:])
                self.collect_all(block.nodes)
                self._pass_on(block.inputs[1:], node.args[2] + node.args[3] if block.inputs else ())

    def _pass_on(self, values: Sequence[Value], sources: Sequence[Value]) -> None:
        """What is learned of the values is learned of what they come from, one by one."""
        for value, source in zip(values, sources, strict=True):
            if value in self.learned:
                self._learn(source, layer=value in self.layers)

    def collect(self, node: Node) -> None:
        """Add what a node does with its arguments."""
        is_constant = not self.constant.isdisjoint(node.outputs)
        for position in () if is_constant else node.op.learns:
            if position < len(node.args):
                self._learn(node.args[position], layer=node.op.family != "elementwise")
        if node.op.name == "add":
            self.added.update(tensors_in(node.args))
        if not is_constant and self.raw.isdisjoint(tensors_in(node.args)):
            places = tuple(node.args[i] for i in node.op.learns_attributes)
            self._learn(tuple(v for v in tensors_in(places) if self._is_attribute(v)), layer=False)
        for position, kind in node.op.statistics:
            if position < len(node.args) and isinstance(node.args[position], Value):
                self.kinds[node.args[position]] = kind
        if self.learned.isdisjoint(node.outputs):
            return
        layer = not self.layers.isdisjoint(node.outputs)
        if node.op.moves:
            self._learn(node.args[0], layer)
        elif is_constant and node.op.name not in TABLES:
            self._learn(tuple(v for v in node.inputs if not _is_number(v)), layer)

    def _learn(self, arg: object, layer: bool) -> None:
        values = set(tensors_in(arg))
        self.learned |= values
        if layer:
            self.layers |= values

    def _is_attribute(self, value: Value) -> bool:
        """Whether it is a module's attribute, and not called as statistics are, or comes from one."""
        if value.weight is not None:
            return value.weight.maker == "module" and STATISTIC.search(value.weight.source) is None
        if value.node is None or value not in self.constant:
            return False
        return any(self._is_attribute(taken) for taken in tensors_in(value.node.args))

    def role(self, value: Value) -> Role:
        """The role of a weight."""
        if (
            value not in self.learned
            or value in self.kinds
            or not value.is_float
            or (value.rank == 0 and value.static is not None)
        ):
            return "buffer"
        assert value.weight is not None
        array = value.weight.array()
        is_table = _is_geometric(array) or (value not in self.layers and self._is_table(value, array))
        return "buffer" if is_table or not value.weight.source else "parameter"

    def _is_table(self, value: Value, array: Array) -> bool:
        """Whether a tensor that takes part in arithmetic only is a mask or what an exporter wrote down."""
        if not array.size:
            return False
        made = value.weight is not None and value.weight.maker == "exporter" and bool((array == array.flat[0]).all())
        # zeros that are added may be the bias of a fresh layer
        if made and (array.size == 1 or (array.flat[0] in (0, 1) and value not in self.added)):
            return True
        return value.rank != 1 and bool(array.min() <= MASKED)


def _is_geometric(array: Array) -> bool:
    """Whether along its only axis each element is the same multiple, other than 1, of the one before."""
    if array.size != max(array.shape, default=0):
        return False
    array = array.reshape(-1)
    if array.size < 4 or not bool((array > 0).all()):
        return False
    ratios = array[1:] / array[:-1]
    return bool(np.allclose(ratios, ratios[0], rtol=1e-3) and not np.isclose(ratios[0], 1, rtol=1e-2))


def _inputs(graph: Graph) -> set[Value]:
    """The inputs, moved or in another type."""
    found = set(graph.inputs)
    for node in graph.all_nodes:
        if (node.op.moves or node.op.name == "cast") and not found.isdisjoint(tensors_in(node.args)):
            found.update(node.outputs)
    return found


def _is_number(value: Value) -> bool:
    """Whether it is one number that an exporter wrote down, such as the root of a width."""
    return value.weight is not None and value.weight.maker != "module" and all(size == 1 for size in value.shape)


def _computed_from_weights(graph: Graph) -> set[Value]:
    """What is computed from tensors of the source and from sizes, and nothing else."""
    found: set[Value] = set()
    for node in graph.all_nodes:
        taken = node.tensors
        if taken and all(value.weight is not None or value in found for value in taken):
            found.update(node.outputs)
    return found


def assign_roles(graph: Graph) -> int:
    """Set `weight.role` and `weight.kind` of every weight, and return how many are parameters."""
    uses = _Uses(constant=_computed_from_weights(graph), raw=_inputs(graph))
    uses.collect_all(graph.nodes)
    for value in graph.weights():
        assert value.weight is not None
        if value.weight.homes or not value.weight.persistent:
            value.weight = replace(value.weight, kind=uses.kinds.get(value, ""))
            continue
        role = uses.role(value)
        trainable = value.weight.trainable and role == "parameter"
        value.weight = replace(value.weight, role=role, trainable=trainable, kind=uses.kinds.get(value, ""))
    return sum(1 for value in graph.weights() if value.weight and value.weight.role == "parameter")


ASSIGN_ROLES = Pass(name="assign_roles", run=assign_roles, requires=("separate_roles",), ensures=("roles",))
