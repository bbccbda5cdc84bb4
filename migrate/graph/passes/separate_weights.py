"""One tensor of the source in several roles that are no tie.

Exporters store equal vectors once: in a fresh model the scale and the running variance of every BatchNorm are the same.
Training them as one tensor would be wrong. Cases, in this order:

1. a running statistic that is also used otherwise -> each statistic is its own;
2. a constant vector (all elements equal) in several layers of other weights -> each layer has its own.

Anything else that is shared stays shared: it is a tie. What the source's own modules hold is as they hold it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from migrate.errors import Diagnostic
from migrate.graph.ir import Graph, Node, Value, map_arg, tensors_in
from migrate.graph.passes import Pass


def separate_weights(graph: Graph) -> int:
    """Give each use that is no tie a value of its own, and return how many were made."""
    names = {v.name for v in (*graph.inputs, *graph.weights(), *(v for n in graph.all_nodes for v in n.outputs))}
    names |= {v.name for n in graph.all_nodes for block in n.blocks for v in block.inputs}
    total = 0
    for value, users in graph.users().items():
        if (
            value.weight is None
            or value.weight.homes
            or not value.is_float
            or sum(_uses(node, value) for node in users) < 2
        ):
            continue
        everywhere = _is_coincidence(value, users)
        made = sum(_split(value, node, names, only_statistics=not everywhere) for node in users)
        if made:
            graph.notes.append(_note(value, users))
        total += made
    return total


def _uses(node: Node, value: Value) -> int:
    return sum(1 for other in tensors_in((node.args, node.kwargs)) if other is value)


def _is_coincidence(value: Value, users: list[Node]) -> bool:
    """Whether it is a constant vector whose users have no other weight in common."""
    if value.rank != 1 or value.weight is None:
        return False
    if any(node.op.moves or not _has_role(node, value) for node in users):
        return False  # parts of one vector are one vector's; what is computed from it is one computation's
    array = value.weight.array()
    if array.size and bool((array != array.flat[0]).any()):
        return False
    others = [{v for v in tensors_in((n.args, n.kwargs)) if v.weight and v.rank > 1} for n in users]
    return not set[Value].intersection(*others)


def _has_role(node: Node, value: Value) -> bool:
    places = (*node.op.learns, *dict(node.op.statistics))
    return any(value in set(tensors_in(node.args[place])) for place in places if place < len(node.args))


def _split(value: Value, node: Node, names: set[str], only_statistics: bool) -> int:
    """Replace `value` in the node by copies: in the arguments that are statistics, or in all."""
    chosen = dict(node.op.statistics) if only_statistics else range(len(node.args))
    before = _uses(node, value)
    node.args = tuple(
        map_arg(arg, lambda leaf: _copy(value, names) if leaf is value else leaf) if i in chosen else arg
        for i, arg in enumerate(node.args)
    )
    return before - _uses(node, value)


def _copy(value: Value, names: set[str]) -> Value:
    index = next(i for i in count(1) if f"{value.name}_{i}" not in names)
    name = f"{value.name}_{index}"
    names.add(name)
    assert value.weight is not None
    return Value(name, value.dtype, value.shape, weight=replace(value.weight, copy=index), static=value.static)


def _note(value: Value, users: list[Node]) -> Diagnostic:
    return Diagnostic(
        code="MIG311",
        severity="note",
        what=f"tensor {value.name!r} is stored once for several roles; each has its own copy now",
        where=", ".join(users[0].origin),
        why="the exporter merged equal vectors; training them as one would be wrong",
    )


SEPARATE_WEIGHTS = Pass(name="separate_weights", run=separate_weights, ensures=("separate_roles",))
