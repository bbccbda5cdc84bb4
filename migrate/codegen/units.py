"""Items of a body in the making: single nodes and calls of scopes, their order, and which of them are the same.

Knows the graph and which nodes are layers; builds no tree.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from migrate.codegen.scopes import Path, Scopes
from migrate.graph.ir import Node, Value, tensors_in
from migrate.graph.sizes import Dim


@dataclass(eq=False, slots=True)
class Unit:
    """Nodes that are one item: a single node (`path` is its layer's, or None), or the nodes of one call of a scope."""

    nodes: list[Node]
    path: Path | None
    is_call: bool

    @property
    def is_free(self) -> bool:
        """Whether it is a node that no module of the source has."""
        return not self.is_call and self.path is None


def read_by(nodes: Iterable[Node]) -> list[Value]:
    """The activations that nodes read, an occurrence each."""
    return [v for node in nodes for v in tensors_in((node.args, node.kwargs)) if v.weight is None]


# ---- order


def in_order(units: list[Unit]) -> tuple[list[Unit], list[Unit]]:
    """The units in an order of computation, as near to the given one as can be, and those that wait in a circle."""
    maker = {v: i for i, unit in enumerate(units) for node in unit.nodes for v in node.outputs}
    waits: list[set[int]] = []
    users: list[list[int]] = [[] for _ in units]
    for i, unit in enumerate(units):
        waits.append({maker[v] for node in unit.nodes for v in node.inputs if v in maker} - {i})
        for other in waits[i]:
            users[other].append(i)
    left = [len(w) for w in waits]
    ready = [i for i, count in enumerate(left) if not count]
    order: list[Unit] = []
    done: set[int] = set()
    holder: Path | None = None
    while ready:
        # members of one list stay together where they can, so that a branch is read as one
        again = [i for i in ready if holder and _holder(units[i]) == holder]
        i = min(again) if again else ready[0]
        ready.remove(i)
        heapq.heapify(ready)
        holder = _holder(units[i])
        order.append(units[i])
        done.add(i)
        for user in users[i]:
            left[user] -= 1
            if not left[user]:
                heapq.heappush(ready, user)
    return order, [unit for i, unit in enumerate(units) if i not in done and _in_circle(i, waits, done)]


def _holder(unit: Unit) -> Path | None:
    """The list that the unit's module is a member of."""
    return unit.path[:-1] if unit.path and unit.path[-1].isdigit() else None


def _in_circle(start: int, waits: list[set[int]], done: set[int]) -> bool:
    """Whether a unit waits, through others, for itself."""
    stack, seen = [w for w in waits[start] if w not in done], set[int]()
    while stack:
        i = stack.pop()
        if i == start:
            return True
        if i not in seen:
            seen.add(i)
            stack += [w for w in waits[i] if w not in done]
    return False


def by_use(units: Sequence[Unit]) -> list[Unit]:
    """The units in an order of computation that does not depend on theirs: each right after what only it needs."""
    maker = {v: unit for unit in units for node in unit.nodes for v in node.outputs}
    order: dict[Unit, None] = {}
    read = {maker[v] for unit in units for v in _needs(unit) if v in maker and maker[v] is not unit}
    for last in (unit for unit in units if unit not in read):
        stack = [(last, False)]
        while stack:
            unit, is_ready = stack.pop()
            if is_ready:
                order[unit] = None
            elif unit not in order:
                stack.append((unit, True))
                makers = dict.fromkeys(maker[v] for v in _needs(unit) if v in maker)
                stack += [(other, False) for other in reversed(makers) if other is not unit and other not in order]
    return list(order)


def _needs(unit: Unit) -> list[Value]:
    """What must be there first, sizes that are read included."""
    return [v for node in unit.nodes for v in node.inputs]


# ---- sameness: a guess, which the texts of classes confirm or not


def mark_of(node: Node, scopes: Scopes) -> Hashable:
    """What two calls have in common that equal classes may hold; numbers and sizes are open."""
    layer = scopes.layer.get(node)
    if layer is not None:
        return layer.constructor, tuple(a.name for a in layer.args), len(layer.inputs)
    return node.op.name, _open(node.args), tuple((k, _open(v)) for k, v in node.kwargs.items())


def _open(arg: Any) -> Hashable:
    """An argument without its numbers; a tensor of the model by its kind."""
    if isinstance(arg, Value):
        return ("weight", arg.weight.role, arg.rank) if arg.weight is not None else "value"
    if isinstance(arg, tuple | list):
        return tuple(_open(item) for item in arg)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(arg, slice):
        return _open((arg.start, arg.stop, arg.step))
    if isinstance(arg, Dim) or (isinstance(arg, int) and not isinstance(arg, bool) and abs(arg) > 2):
        return "number"
    return arg if isinstance(arg, str | bool | int | None) else type(arg).__name__


def marks_of(units: Sequence[Unit], scopes: Scopes, longest: int) -> list[list[Hashable]]:
    """For each unit, the marks of the runs of one, two, ... units that begin there: equal for the same computation."""
    maker = {v: i for i, unit in enumerate(units) for node in unit.nodes for v in node.outputs}
    own = [tuple(mark_of(node, scopes) for node in unit.nodes) for unit in units]
    reads = [[maker.get(v, -1) for v in read_by(unit.nodes)] for unit in units]
    found: list[list[Hashable]] = []
    for start in range(len(units)):
        mark, marks = 0, list[Hashable]()
        for i in range(start, min(start + longest, len(units))):
            mark = hash((mark, own[i], tuple(i - m if start <= m < i else -1 for m in reads[i])))
            marks.append(mark)
        found.append(marks)
    return found
