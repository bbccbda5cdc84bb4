"""Where a tensor is taken apart along one axis, element by element, in whichever of the ways that exporters write it.

    %q = select(%x, 0, 0)        %s = getitem(%x, slice(0, 1))        %s, %t = split(%x, (1, 1), 0)
    %k = select(%x, 0, 1)        %q = squeeze(%s, 0)                  %q = squeeze(%s, 0)

Knows who uses a value; changes no graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from migrate.graph.ir import Node, Value
from migrate.graph.sizes import Dim, Size
from migrate.graph.uses import Users

MAX_PARTS = 8


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a tensor along one axis: which places of it."""

    whole: Value
    axis: int
    places: range


def span(part: Value) -> Span | None:
    """What a slice, or an output of a split, is a part of; None for anything else."""
    node = part.node
    if node is None or not node.args or not isinstance(node.args[0], Value):
        return None
    whole: Value = node.args[0]
    if node.op.name == "getitem" and isinstance(node.args[1], tuple):
        index: tuple[Any, ...] = node.args[1]
        cut = [k for k, each in enumerate(index) if each != slice(None)]
        if len(cut) != 1 or not all(isinstance(each, slice) for each in index):
            return None
        return _span(whole, cut[0], index[cut[0]])
    if node.op.name in ("split", "chunk"):
        axis = node.kwargs.get("dim", node.args[2] if len(node.args) > 2 else 0) % whole.rank
        sizes = [value.shape[axis] for value in node.outputs]
        start = _sum(sizes[: node.outputs.index(part)])
        return None if start is None else _span(whole, axis, slice(start, start + part.shape[axis]))
    return None


def _span(whole: Value, axis: int, cut: slice[Any, Any, Any]) -> Span | None:
    size = whole.shape[axis]
    fixed = not any(isinstance(each, Dim) for each in (size, cut.start, cut.stop, cut.step))
    return Span(whole, axis, range(size)[cut]) if fixed and isinstance(size, int) else None


def _sum(sizes: Sequence[Size]) -> int | None:
    """The sum of sizes, where they are fixed."""
    fixed = [size for size in sizes if isinstance(size, int)]
    return sum(fixed) if len(fixed) == len(sizes) else None


def parts_of(whole: Value, users: Users) -> tuple[int, list[Value], list[Node]] | None:
    """Where each element of one axis is taken: the axis, the elements in order, and the nodes that take them."""
    found: dict[int, Value] = {}
    axes: set[int] = set()
    gone: list[Node] = []
    for node in users.get(whole, ()):
        for axis, index, value, nodes in takes(node, whole, users):
            axes.add(axis)
            if index in found:
                return None
            found[index] = value
            gone += nodes
        if node not in gone:
            return None
    count = whole.shape[next(iter(axes))] if len(axes) == 1 else 0
    if isinstance(count, Dim) or not 2 <= count <= MAX_PARTS or sorted(found) != list(range(count)):
        return None
    return axes.pop(), [found[k] for k in range(count)], gone


def takes(node: Node, whole: Value, users: Users) -> Iterator[tuple[int, int, Value, list[Node]]]:
    """The elements that a node takes, as axis, number, value, and the nodes that do it."""
    if node.op.name == "select" and node.args[0] is whole and isinstance(node.args[2], int):
        axis = node.args[1] % whole.rank
        count = whole.shape[axis]
        if not isinstance(count, Dim):
            yield axis, node.args[2] % count, node.output, [node]
    elif node.op.name == "getitem" and node.args[0] is whole:
        yield from _indexed(node, whole, users)
    elif node.op.name == "split" and set(node.args[1]) == {1}:
        axis = (node.args[2] if len(node.args) > 2 else node.kwargs.get("dim", 0)) % whole.rank
        squeezed = [_squeezed(part, axis, users) for part in node.outputs]
        if all(found is not None for found in squeezed):
            for index, found in enumerate(squeezed):
                assert found is not None
                yield axis, index, found.output, [node, found]


def _indexed(node: Node, whole: Value, users: Users) -> Iterator[tuple[int, int, Value, list[Node]]]:
    index: Any = node.args[1]
    parts: tuple[Any, ...] = index if isinstance(index, tuple) else (index,)
    chosen = [k for k, part in enumerate(parts) if part != slice(None)]
    if len(chosen) != 1 or any(part is Ellipsis or part is None for part in parts):
        return
    axis = chosen[0]
    part, count = parts[axis], whole.shape[axis]
    if isinstance(count, Dim):
        return
    if isinstance(part, int) and not isinstance(part, bool):
        yield axis, part % count, node.output, [node]
    elif isinstance(part, slice) and part.step in (None, 1) and not isinstance(part.start, Dim):
        start, stop = part.start or 0, count if part.stop is None else part.stop
        squeezed = _squeezed(node.output, axis, users)
        if not isinstance(stop, Dim) and min(stop, count) - start == 1 and squeezed is not None:
            yield axis, start, squeezed.output, [node, squeezed]


def _squeezed(value: Value, axis: int, users: Users) -> Node | None:
    """The one node that drops the axis of a single element."""
    found = list(users.get(value, ()))
    if len(found) != 1 or found[0].op.name != "squeeze" or len(found[0].args) != 2:
        return None
    dims = found[0].args[1] if isinstance(found[0].args[1], tuple) else (found[0].args[1],)
    return found[0] if [d % value.rank for d in dims] == [axis] else None
