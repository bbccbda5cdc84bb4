"""Whether two runs of nodes are the same computation with the same tensors on other inputs. Knows no names and no text."""

from __future__ import annotations

from typing import Any

from migrate.graph.ir import Node, Value, tensors_in
from migrate.graph.sizes import Dim, SizeOf


def matching(first: list[Node], second: list[Node]) -> dict[Value, Value] | None:
    """The values of `first` -> those of `second` where they are the same computation, else None."""
    if len(first) != len(second):
        return None
    renamed: dict[Value, Value] = {}
    for a, b in zip(first, second, strict=True):
        if a.blocks or b.blocks:
            return None  # what is in blocks is not compared
        if a.op is not b.op or a.kwargs.keys() != b.kwargs.keys() or len(a.outputs) != len(b.outputs):
            return None
        pairs = zip((a.args, a.kwargs), (b.args, b.kwargs), strict=True)
        if not all(_match(x, y, renamed) for x, y in pairs):
            return None
        renamed.update(zip(a.outputs, b.outputs, strict=True))
    return renamed


def _match(a: Any, b: Any, renamed: dict[Value, Value]) -> bool:
    if isinstance(a, Value):
        if not isinstance(b, Value) or a.dtype != b.dtype or a.rank != b.rank:
            return False
        if a.weight is not None or b.weight is not None:
            return a is b
        return renamed.setdefault(a, b) is b
    if isinstance(a, tuple | list):
        return (
            isinstance(b, tuple | list)
            and len(a) == len(b)  # pyright: ignore[reportUnknownArgumentType]
            and all(_match(x, y, renamed) for x, y in zip(a, b, strict=True))  # pyright: ignore[reportUnknownArgumentType]
        )
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_match(a[k], b[k], renamed) for k in a)
    if isinstance(a, slice):
        return isinstance(b, slice) and _match((a.start, a.stop, a.step), (b.start, b.stop, b.step), renamed)
    if isinstance(a, Dim):
        return isinstance(b, Dim) and _match_sizes(a, b, renamed)
    return type(a) is type(b) and a == b


def _match_sizes(a: Dim, b: Dim, renamed: dict[Value, Value]) -> bool:
    """Sizes match where they are read from matching places; so both calls can read them from their own inputs."""
    if isinstance(a.expr, SizeOf) or isinstance(b.expr, SizeOf):
        return (
            isinstance(a.expr, SizeOf)
            and isinstance(b.expr, SizeOf)
            and a.expr.axis == b.expr.axis
            and renamed.get(a.expr.value, a.expr.value) is b.expr.value
        )
    if a.expr.op != b.expr.op or len(a.expr.args) != len(b.expr.args):
        return False
    return all(_match(x, y, renamed) for x, y in zip(a.expr.args, b.expr.args, strict=True))


def repeats(nodes: list[Node]) -> list[list[Node]]:
    """The same module called several times in a row: equal runs with the same tensors, each on its own."""
    marks = [(n.op.name, *(id(v) for v in tensors_in((n.args, n.kwargs)) if v.weight is not None)) for n in nodes]
    weighted = next((i for i, mark in enumerate(marks) if len(mark) > 1), None)
    if weighted is None:
        return [nodes]
    again = next((i for i in range(weighted + 1, len(nodes)) if marks[i] == marks[weighted]), None)
    if again is None or len(nodes) % (again - weighted):
        return [nodes]
    step = again - weighted
    runs = [nodes[i : i + step] for i in range(0, len(nodes), step)]
    return runs if all(matching(runs[0], run) is not None for run in runs[1:]) else [nodes]
