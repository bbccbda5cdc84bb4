"""What each op allows of the sizes of its tensors: which axes change alike, and which stay. Knows the graph alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from migrate.codegen.width_axes import Axes
from migrate.codegen.width_moves import join_moved
from migrate.graph.ir import Node, Value, sizes_in, tensors_in
from migrate.graph.layouts import MOVES
from migrate.graph.sizes import SizeOf

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
        join_moved(axes, node)
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
    out = node.outputs[0]
    for value in (*tensors_in((node.args, node.kwargs)), *node.outputs[1:]):
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
    x = node.args[0]
    for out in node.outputs:  # with the places of what was taken, where those are asked for
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


def _multihead_attention(axes: Axes, node: Node) -> None:
    """One projection of queries, keys and values, as wide as what is attended with."""
    q, k, v, packed, bias, out = (node.args[place] for place in (0, 1, 2, 5, 9, 12))
    result = node.outputs[0]
    others = [value for value in tensors_in(node.args) if not any(value is one for one in (q, k, v, packed, bias, out))]
    axes.fix_all([*(one for one in others if one.rank != 1), *node.outputs[1:]])
    if packed is None:
        axes.fix_all([*tensors_in(node.args), result])
        return
    wide = [(k, -1), (v, -1), (packed, 0), (packed, 1), (out, 0), (out, 1), (result, -1)]
    wide += [(one, 0) for one in (bias, *others) if one is not None and one.rank == 1]
    for value, axis in wide:
        axes.join(q, -1, value, axis)
    for axis in range(q.rank - 1):
        axes.join(q, axis, result, axis)


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
    "multihead_attention": _multihead_attention, "sdpa": _sdpa,
    "split": _parts, "chunk": _parts, "unbind": _unbind, "cat": _cat, "expand": _expand,
    **{f"{op}{rank}d": _conv for op in ("conv", "conv_transpose") for rank in (1, 2, 3)},
    "pad": _pad, "select": _select, "getitem": _getitem,
}  # fmt: skip
