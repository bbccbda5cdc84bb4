"""What reshapes, transposes and their kin allow of the sizes of a tensor. Knows layouts; no other op."""

from __future__ import annotations

from typing import Any

from migrate.codegen.width_axes import Axes
from migrate.graph.ir import Node, Value, sizes_in
from migrate.graph.layouts import layout_of, moved
from migrate.graph.sizes import Dim, SizeOf

SMALL = 4  # a number below it in an expression is no width


def join_moved(axes: Axes, node: Node) -> None:
    """Pieces of axes: a part of an axis grows with it, the last where it is cut; of what is joined one may grow."""
    x, out = node.args[0], node.output
    found = moved(layout_of(x.shape), node)
    if found is None or _has_arithmetic(node):
        axes.fix_all([x, out])
        return
    place = {piece: k for k, axis in enumerate(found.axes) for piece in axis}
    size_of = dict[Any, tuple[Value, int]]()
    for k, pieces in enumerate(found.root):
        last = next((p for p in reversed(pieces) if p in place and p.size != 1), None)
        for piece in pieces:
            if piece is last:
                size_of[piece] = (x, k)
            elif piece in place and len(found.axes[place[piece]]) == 1:
                axes.fix(out, place[piece])
        if any(isinstance(p.size, Dim) for p in pieces) and len(pieces) > 1:
            axes.fix(x, k)
    for k, pieces in enumerate(found.axes):
        free = [
            size_of[p] for p in pieces if p in size_of and not axes.is_fixed(*size_of[p]) and isinstance(p.size, int)
        ]
        if len(free) == 1 and all(isinstance(p.size, int) for p in pieces):
            axes.join(*free[0], out, k)
        else:
            for axis in free:
                axes.fix(*axis)
            axes.fix(out, k)
    _join_equal(axes, out)


def _has_arithmetic(node: Node) -> bool:
    return any(not isinstance(size.expr, SizeOf) and not _is_plain(size) for size in sizes_in((node.args, node.kwargs)))


def _is_plain(size: Dim) -> bool:
    """Whether an expression has no number that might be a width."""
    return not isinstance(size.expr, SizeOf) and all(not isinstance(a, int) or a < SMALL for a in size.expr.args)


def _join_equal(axes: Axes, value: Value) -> None:
    """Axes of one size are one, where the size is written as a number that does not tell which it is of."""
    sizes: dict[int, int] = {}
    for axis, size in enumerate(value.shape):
        if isinstance(size, int) and size > 2 and size in sizes:
            axes.join(value, sizes[size], value, axis)
        elif isinstance(size, int):
            sizes[size] = axis
