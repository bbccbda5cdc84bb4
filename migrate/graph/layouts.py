"""What reshapes, transposes and their kin do to a tensor, as pieces of axes: which piece of the first lies where in the last.

    x: [batch, 10, 36]                           root axes  (b) (t) (h d)
    y = unflatten(x, -1, (3, 12))
    z = permute(y, (0, 2, 1, 3))                 axes       (b) (h) (t) (d)

Two chains with the same layout move the elements alike, so the shorter may stand for the longer. Knows sizes and the ops that
only move; changes no graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from migrate.graph.ir import Node
from migrate.graph.sizes import NUM_SAMPLES, Dim, Size, apply, at, equal, numel

MOVES = frozenset({"reshape", "permute", "transpose", "squeeze", "unsqueeze", "flatten", "unflatten"})
Step = tuple[str, tuple[Any, ...]]
_COSTS = {"reshape": 3, "permute": 3}  # the others say more of what they do, and name fewer sizes and axes


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Part of an axis; one of size 1 may come and go."""

    size: Size


Axis = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The axes of a tensor, and those of the tensor that it was moved from, as pieces, the outermost first."""

    root: tuple[Axis, ...]
    axes: tuple[Axis, ...]

    def put(self, piece: Piece, parts: Axis) -> Layout:
        """The same with a piece in parts."""
        root, axes = (
            tuple(tuple(q for p in axis for q in (parts if p is piece else (p,))) for axis in side)
            for side in (self.root, self.axes)
        )
        return Layout(root, axes)


def layout_of(shape: Sequence[Size]) -> Layout:
    """That of a tensor which was not moved."""
    axes = tuple((Piece(size),) for size in shape)
    return Layout(axes, axes)


def moved(layout: Layout, node: Node) -> Layout | None:
    """The layout after a node that moves; None where it cannot be told in pieces."""
    axes = list(layout.axes)
    name, args = node.op.name, node.args[1:]
    if name in ("permute", "transpose") and not node.kwargs:
        return Layout(layout.root, tuple(axes[k] for k in order_of(node, len(axes))))
    return _regrouped(layout, node.output.shape) if name in MOVES and (args or name == "squeeze") else None


def order_of(node: Node, rank: int) -> list[int]:
    """Which axis of its input each axis of a permuted or transposed tensor is."""
    if node.op.name == "permute":
        return [axis % rank for axis in node.args[1]]
    order = list(range(rank))
    first, second = (axis % rank for axis in node.args[1:])
    order[first], order[second] = order[second], order[first]
    return order


def _regrouped(layout: Layout, shape: Sequence[Size]) -> Layout | None:
    """The pieces in the same order, in axes of these sizes; cut where an axis ends within one."""
    left = [piece for axis in layout.axes for piece in axis]
    axes: list[Axis] = []
    for size in shape:
        if equal(size, 1):
            axes.append((left.pop(0),) if left and equal(left[0].size, 1) else (Piece(1),))
            continue
        axis: list[Piece] = []
        while not equal(size, 1):
            while left and equal(left[0].size, 1):
                left.pop(0)
            if not left:
                return None
            piece = left.pop(0)
            if _divides(piece.size, size):
                size = _quotient(size, piece.size)
            elif _divides(size, piece.size):
                parts = (Piece(size), Piece(_quotient(piece.size, size)))
                layout, axes = layout.put(piece, parts), _cut(axes, piece, parts)
                left.insert(0, parts[1])
                piece, size = parts[0], 1
            else:
                return None
            axis.append(piece)
        axes.append(tuple(axis))
    return Layout(layout.root, tuple(axes)) if all(equal(piece.size, 1) for piece in left) else None


def _cut(axes: list[Axis], piece: Piece, parts: Axis) -> list[Axis]:
    return [tuple(q for p in axis for q in (parts if p is piece else (p,))) for axis in axes]


def _divides(divisor: Size, size: Size) -> bool:
    return all(at(divisor, k) > 0 and at(size, k) % at(divisor, k) == 0 for k in range(NUM_SAMPLES))


def _quotient(size: Size, divisor: Size) -> Size:
    return apply("//", size, divisor)


def follow(layout: Layout, nodes: list[Node]) -> Layout | None:
    """The layout after the nodes."""
    found: Layout | None = layout
    for node in nodes:
        found = moved(found, node) if found is not None else None
    return found


# ---- the shortest chain


def cost(ops: Iterable[str]) -> int:
    """How much there is to read in calls of these ops."""
    return sum(_COSTS.get(op, 2) for op in ops)


def steps(layout: Layout) -> list[Step]:
    """Calls that make the layout from its root, as few as there can be: cut, turn, join."""
    known = {size: size for axis in layout.root for piece in axis if isinstance(size := piece.size, Dim)}
    shape = [known.get(size, size) if isinstance(size := numel([p.size for p in axis]), Dim) else size
             for axis in layout.axes]  # fmt: skip
    wanted = [piece for axis in layout.axes for piece in axis]
    there = [piece for axis in layout.root for piece in axis]
    kept = [piece for piece in there if piece in wanted]
    order = [kept.index(piece) for piece in wanted if piece in kept]
    found = _cutting(layout.root, wanted)
    turns = order != list(range(len(order)))
    joining = _joining(layout.axes, set(there), shape)
    if turns:
        return [*found, _turn(order), *joining]
    same = [tuple(axis) for axis in layout.root] == [tuple(axis) for axis in layout.axes]
    return [] if same else found if found and not joining else joining if not found else [("reshape", (tuple(shape),))]


def _cutting(root: tuple[Axis, ...], wanted: list[Piece]) -> list[Step]:
    """Cut the root's axes into pieces, and leave out those of size 1 that go."""
    cut = [k for k, axis in enumerate(root) if len(axis) > 1]
    gone = tuple(k for k, axis in enumerate(root) if len(axis) == 1 and axis[0] not in wanted)
    if len(cut) > 1 or (cut and gone):
        return [("reshape", (tuple(p.size for axis in root for p in axis if p in wanted),))]
    if gone:
        return [("squeeze", (gone,) if len(gone) > 1 else gone)]
    if not cut:
        return []
    sizes = [piece.size for piece in root[cut[0]]]
    free = [k for k, size in enumerate(sizes) if isinstance(size, Dim)]
    if free or len(sizes) > 2:
        sizes[free[0] if free else 0] = -1
    last = cut[0] == len(root) - 1
    return [("unflatten", (-1 if last else cut[0], tuple(sizes)))]


def _turn(order: list[int]) -> Step:
    turned = [k for k, axis in enumerate(order) if k != axis]
    return ("transpose", (turned[0], turned[1])) if len(turned) == 2 else ("permute", (tuple(order),))


def _joining(axes: tuple[Axis, ...], there: set[Piece], shape: list[Size]) -> list[Step]:
    """Join pieces to axes, and add axes of size 1."""
    joined = [k for k, axis in enumerate(axes) if len(axis) > 1]
    new = [k for k, axis in enumerate(axes) if len(axis) == 1 and axis[0] not in there]
    if not joined and not new:
        return []
    if len(new) == 1 and not joined:
        return [("unsqueeze", (new[0],))]
    if len(joined) == 1 and not new:
        start, stop = joined[0], joined[0] + len(axes[joined[0]]) - 1
        ends = joined[0] == len(axes) - 1
        return [("flatten", (start,) if ends else (start, stop))]
    return [("reshape", (tuple(shape),))]


# ---- taking apart


def same_moves(left: list[Node], right: list[Node]) -> bool:
    """Whether two chains are the same calls."""
    pairs = zip(left, right, strict=False)
    return len(left) == len(right) and all(
        a.op is b.op and a.args[1:] == b.args[1:] and a.kwargs == b.kwargs for a, b in pairs
    )


def apart(layout: Layout, axis: int, tail: list[Node]) -> list[Step] | None:
    """The steps to all parts: the axis in front, what is done to each of them behind it, and the cut."""
    number = layout.axes[axis]
    rest = follow(Layout(layout.root, (*layout.axes[:axis], *layout.axes[axis + 1 :])), tail)
    if rest is None or len(number) != 1:
        return None
    return [*steps(Layout(rest.root, (number, *rest.axes))), ("unbind", (0,))]
