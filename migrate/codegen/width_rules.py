"""What each op allows of the sizes of its tensors: which axes change alike, and which stay. Knows the graph alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from migrate.codegen.width_axes import Axes
from migrate.graph.ir import Node, Value, sizes_in, tensors_in
from migrate.graph.layouts import MOVES, layout_of, moved
from migrate.graph.sizes import Dim, SizeOf

SMALL = 4  # a number below it in an expression is no width
_POOLS = ("pool", "resample")
_ALIKE = frozenset({"elementwise", "activation", "random"})
_NORMS = frozenset({"batch_norm", "frozen_batch_norm", "instance_norm", "group_norm"})
_REDUCES = frozenset({"mean", "sum", "amax", "amin", "var", "std"})


def join_node(axes: Axes, node: Node) -> None:
    """Join and fix the axes of a node's tensors."""
    name, args = node.op.name, node.args
    rule = _RULES.get(name)
    grows = any(size.expr.__class__ is not SizeOf for size in sizes_in((args, node.kwargs)))
    if node.blocks or (grows and name not in MOVES):
        axes.fix_all([*tensors_in((args, node.kwargs)), *node.outputs])
    elif rule is not None:
        rule(axes, node)
    elif node.op.family in _ALIKE or name == "where":
        _alike(axes, node)
    elif name in MOVES:
        _moves(axes, node)
    elif name in _NORMS:
        _channels(axes, node)
    elif node.op.family in _POOLS:
        _spatial(axes, node)
    elif name in _REDUCES:
        _reduces(axes, node)
    else:
        axes.fix_all([*tensors_in((args, node.kwargs)), *node.outputs])


def _alike(axes: Axes, node: Node) -> None:
    """Tensors that are spread over each other, aligned at the last axis."""
    out = node.output
    for value in tensors_in((node.args, node.kwargs)):
        for back in range(1, value.rank + 1):
            if back > out.rank or (value.shape[-back] != out.shape[-back] and value.shape[-back] != 1):
                axes.fix(value, -back)
            elif value.shape[-back] != 1 or out.shape[-back] == 1:
                axes.join(value, -back, out, -back)


def _linear(axes: Axes, node: Node) -> None:
    x, weight, *bias = tensors_in((node.args, node.kwargs))
    axes.join(x, -1, weight, 1)
    axes.join(weight, 0, node.output, -1)
    for value in bias:
        axes.join(value, 0, weight, 0)
    for axis in range(x.rank - 1):
        axes.join(x, axis, node.output, axis)


def _conv(axes: Axes, node: Node) -> None:
    x, weight, *bias = tensors_in((node.args, node.kwargs))
    turned = node.op.name.startswith("conv_transpose")
    is_depthwise = not turned and _groups(node) == x.shape[1] == weight.shape[0]
    axes.join(x, 1, weight, 0 if is_depthwise or turned else 1)
    axes.join(weight, int(turned), node.output, 1)
    for value in bias:
        axes.join(value, 0, weight, int(turned))
    for axis in range(2, weight.rank):
        axes.fix(weight, axis)
        axes.fix(x, axis)
        axes.fix(node.output, axis)


def _groups(node: Node) -> Any:
    return node.kwargs.get("groups", node.args[6] if len(node.args) > 6 else 1)


def _embedding(axes: Axes, node: Node) -> None:
    table = node.args[1]
    axes.fix(table, 0)
    axes.join(table, 1, node.output, -1)
    for axis in range(node.output.rank - 1):
        axes.join(node.args[0], axis, node.output, axis)


def _layer_norm(axes: Axes, node: Node) -> None:
    x, *tensors = tensors_in((node.args, node.kwargs))
    for axis in range(x.rank):
        axes.join(x, axis, node.output, axis)
    for value in tensors:
        for back in range(1, value.rank + 1):
            axes.join(value, -back, x, -back)


def _channels(axes: Axes, node: Node) -> None:
    x, *tensors = tensors_in((node.args, node.kwargs))
    for axis in range(x.rank):
        axes.join(x, axis, node.output, axis)
    for value in tensors:
        axes.join(value, 0, x, 1)


def _spatial(axes: Axes, node: Node) -> None:
    x, out = node.args[0], node.output
    for axis in range(out.rank):
        if axis < 2 and x.rank == out.rank:
            axes.join(x, axis, out, axis)
        else:
            axes.fix(out, axis)
            axes.fix(x, min(axis, x.rank - 1))


def _matmul(axes: Axes, node: Node) -> None:
    a, b = node.args
    if a.rank < 2 or b.rank < 2:
        axes.fix_all([a, b, node.output])
        return
    axes.join(a, -1, b, -2)
    axes.join(a, -2, node.output, -2)
    axes.join(b, -1, node.output, -1)
    for value in (a, b):
        for back in range(3, value.rank + 1):
            axes.join(value, -back, node.output, -back)


def _sdpa(axes: Axes, node: Node) -> None:
    q, k, v, *masks = tensors_in((node.args, node.kwargs))
    axes.join(q, -1, k, -1)
    axes.join(v, -1, node.output, -1)
    axes.join(k, -2, v, -2)
    for axis in range(q.rank - 1):
        axes.join(q, axis, node.output, axis)
    for axis in range(q.rank - 2):
        axes.fix(k, axis)
        axes.fix(v, axis)
    axes.fix_all(masks)
    if node.kwargs.get("scale") is not None or len(node.args) > 6:
        axes.fix(q, -1)


def _moves(axes: Axes, node: Node) -> None:
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


def _parts(axes: Axes, node: Node) -> None:
    for out in node.outputs:
        for k in range(out.rank):
            axes.join(node.args[0], k, out, k)


def _unbind(axes: Axes, node: Node) -> None:
    x = node.args[0]
    gone = (node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)) % x.rank
    axes.fix(x, gone)
    kept = [k for k in range(x.rank) if k != gone]
    for out in node.outputs:
        for axis, k in enumerate(kept):
            axes.join(x, k, out, axis)


def _select(axes: Axes, node: Node) -> None:
    x, dim, _ = node.args
    axes.fix(x, dim)
    for axis, k in enumerate(k for k in range(x.rank) if k != dim % x.rank):
        axes.join(x, k, node.output, axis)


def _getitem(axes: Axes, node: Node) -> None:
    """Whole axes go on, of the others nothing is known."""
    x, out = node.args[0], node.output
    index = node.args[1] if isinstance(node.args[1], tuple) else (node.args[1],)
    if len(index) == 1 and isinstance(index[0], Value):  # rows of a table
        axes.fix(x, 0)
        for back in range(1, x.rank):
            axes.join(x, -back, out, -back)
        return
    if not all(isinstance(one, int | slice | None) for one in index):
        axes.fix_all([*tensors_in(node.args), out])
        return
    k = axis = 0
    for one in (*index, *[slice(None)] * x.rank):
        if one is None:
            axis += 1
        elif k < x.rank:
            if one == slice(None):
                axes.join(x, k, out, axis)
            else:
                axes.fix(x, k)
                if isinstance(one, slice):
                    axes.fix(out, axis)
            k, axis = k + 1, axis + isinstance(one, slice)


def _cat(axes: Axes, node: Node) -> None:
    parts, out = list(tensors_in(node.args[0])), node.output
    axis = (node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)) % out.rank
    for part in parts:
        for k in range(out.rank):
            axes.join(part, k, out, k)
    if any(part.shape[axis] == 1 for part in parts):
        axes.fix(out, axis)


def _pad(axes: Axes, node: Node) -> None:
    """An axis that nothing is added to goes on."""
    x, pads, out = node.args[0], node.args[1], node.output
    for back in range(1, x.rank + 1):
        given = pads[2 * back - 2 : 2 * back]
        if all(type(size) is int and size == 0 for size in given):
            axes.join(x, -back, out, -back)
        else:
            axes.fix(x, -back)
            axes.fix(out, -back)


def _expand(axes: Axes, node: Node) -> None:
    _alike(axes, node)
    x, out = node.args[0], node.output
    for back in range(1, out.rank + 1):
        if back > x.rank or x.shape[-back] == 1:
            axes.fix(out, -back)


def _reduces(axes: Axes, node: Node) -> None:
    x, out = node.args[0], node.output
    dims = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
    if dims is None:
        axes.fix_all([x])
        return
    gone = {d % x.rank for d in (dims if isinstance(dims, tuple | list) else (dims,))}
    keeps = out.rank == x.rank
    kept = [k for k in range(x.rank) if keeps or k not in gone]
    for axis, k in enumerate(kept):
        if k not in gone:
            axes.join(x, k, out, axis)


_RULES: dict[str, Callable[[Axes, Node], None]] = {
    "linear": _linear, "embedding": _embedding, "layer_norm": _layer_norm, "rms_norm": _layer_norm, "matmul": _matmul,
    "sdpa": _sdpa, "split": _parts, "chunk": _parts, "unbind": _unbind, "cat": _cat, "expand": _expand,
    **{f"{op}{rank}d": _conv for op in ("conv", "conv_transpose") for rank in (1, 2, 3)},
    "pad": _pad, "select": _select, "getitem": _getitem,
}  # fmt: skip
