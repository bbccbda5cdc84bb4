"""What values and layers are for, where their use tells: queries, keys, values and the projections around an attention.

Names by role, for sources that name nothing. Knows the graph; no module tree and no text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from migrate.graph.ir import Node, Value, tensors_in
from migrate.graph.layouts import MOVES

_PARTS = frozenset({"unbind", "split", "chunk", "getitem", "select"})
_PASSES = MOVES | {"dropout"}


@dataclass(slots=True)
class Roles:
    """`values` and `layers` by what they are for."""

    values: dict[Value, str] = field(default_factory=dict[Value, str])
    layers: dict[Node, str] = field(default_factory=dict[Node, str])


def find_roles(nodes: Iterable[Node]) -> Roles:
    """The roles around every attention."""
    nodes = list(nodes)
    users: dict[Value, list[Node]] = {}
    for node in nodes:
        for value in tensors_in((node.args, node.kwargs)):
            users.setdefault(value, []).append(node)
    roles = Roles()
    for node in nodes:
        if node.op.name == "sdpa":
            for name, value in zip(("q", "k", "v"), node.args[:3], strict=False):
                _before(name, value, roles)
            _behind(node.output, users, roles)
    return roles


def _before(name: str, value: Value, roles: Roles) -> None:
    """The way from a projection to an attention."""
    while value.node is not None and value.weight is None:
        if roles.values.setdefault(value, name) != name:
            return  # queries and keys that are one
        node = value.node
        if node.op.name == "linear":
            roles.layers.setdefault(node, f"{name}_proj")
        if node.op.name in _PARTS:
            _packed(node.args[0], roles)
        if node.op.name not in MOVES:
            return
        value = node.args[0]


def _packed(value: Value, roles: Roles) -> None:
    """The way from one projection of queries, keys and values to where they part."""
    while value.node is not None and value.weight is None:
        roles.values.setdefault(value, "qkv")
        if value.node.op.name == "linear":
            roles.layers.setdefault(value.node, "qkv")
        if value.node.op.name not in MOVES:
            return
        value = value.node.args[0]


def _behind(value: Value, users: dict[Value, list[Node]], roles: Roles) -> None:
    """The projection of what was attended to."""
    while len(found := users.get(value, [])) == 1:
        (node,) = found
        if node.op.name == "linear" and node.args[0] is value:
            roles.layers.setdefault(node, "out_proj")
        if node.op.name not in _PASSES:
            return
        value = node.output
