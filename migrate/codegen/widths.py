"""Which sizes of a model are its width: axes of tensors that grow together, where every op allows that they do.

    x: [batch, 24]      linear(x, w: [96, 24])   ->   24 of x and of w are one size, 96 of w and of the result another
    split(qkv, 24, 2)   ->   the parts grow as the whole does

Axes are joined where an op needs that both change alike (`width_rules.py`). An axis of an input, and one of which an op is not
known to allow it, is fixed, and all that is joined with it. What is left may be changed, all in one proportion, so that sums,
products and parts still fit. Knows the graph and which nodes are layers; no text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from migrate.codegen.layers import Arg, Layer
from migrate.codegen.width_axes import Axes
from migrate.codegen.width_rules import join_node
from migrate.graph.ir import Graph, Node, Value, tensors_in

MIN_WIDTH = 4
MIN_USES = 6  # axes of the model's tensors
_AXIS_OF_ARG = {
    "in_features": ("weight", 1), "out_features": ("weight", 0), "num_features": ("running_mean", 0),
    "normalized_shape": ("weight", 0), "num_channels": ("weight", 0), "embedding_dim": ("weight", 1),
    "num_embeddings": ("weight", 0), "embed_dim": ("out_proj.weight", 0),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Widths:
    """The field of the configuration, its default, and what is written as a multiple or part of it."""

    name: str
    base: int
    axes: frozenset[tuple[Value, int]]
    literals: dict[Node, frozenset[int]]

    def share(self, arg: Arg) -> Arg:
        """An argument that grows with the field, as a multiple and part of it."""
        common = gcd(arg.value, self.base)
        return replace(arg, config=self.name, ratio=(arg.value // common, self.base // common))

    def is_width(self, value: Value, axis: int) -> bool:
        """Whether an axis of a tensor grows with the field."""
        return (value, axis) in self.axes


def find_widths(graph: Graph, layers: dict[Node, Layer]) -> Widths | None:
    """The width of a model; None where nothing may change."""
    axes = Axes()
    nodes = list(graph.all_nodes)
    axes.fix_all(graph.inputs)
    for _ in range(2):  # what is fixed later may tell what of a joined axis may grow
        for node in nodes:
            join_node(axes, node)
    groups = _groups(axes, nodes, graph.state)
    most = max(groups, key=lambda top: _held(groups[top]), default=None)
    for value in graph.outputs:
        for axis in range(value.rank):
            if axes.top((value, axis)) != most:
                axes.fix(value, axis)
    while True:
        groups = _groups(axes, nodes, graph.state)
        base = _base(groups)
        fits = [g for g in groups.values() if all(size % base == 0 or base % size == 0 for size in _sizes(g))]
        found = set[tuple[Value, int]]().union(*fits)
        wrong = [axis for node in nodes for axis in _unsaid(node, layers.get(node), found)]
        if not wrong:
            return _named(base, found, nodes)
        for value, axis in wrong:
            axes.fix(value, axis)


def _groups(axes: Axes, nodes: Sequence[Node], state: Sequence[Value]) -> dict[Any, set[tuple[Value, int]]]:
    """The axes that may change, of tensors of the model and of what is computed, by what changes alike."""
    values = dict.fromkeys(v for n in nodes for v in (*tensors_in((n.args, n.kwargs)), *n.outputs))
    axes.fix_all(v for v in state if v not in values)
    groups: dict[Any, set[tuple[Value, int]]] = {}
    for value in values:
        for axis, size in enumerate(value.shape):
            top = axes.top((value, axis))
            if isinstance(size, int) and size > 1 and top is not None:
                groups.setdefault(top, set()).add((value, axis))
    return {top: group for top, group in groups.items() if _held(group)}


def _held(group: set[tuple[Value, int]]) -> int:
    """How many axes of the model's own tensors are in a group."""
    return sum(value.weight is not None for value, _ in group)


def _unsaid(node: Node, layer: Layer | None, found: set[tuple[Value, int]]) -> Iterator[tuple[Value, int]]:
    """The axes that change and whose size the code of a node would not say."""
    if layer is not None:
        said = {axis for arg in layer.args if (axis := axis_of(arg, layer)) is not None}
        sizes = _sizes({axis for axis in said if axis in found})
        for value in layer.tensors.values():
            for axis, size in enumerate(value.shape):
                if (value, axis) in found and not any(size % one == 0 for one in sizes if isinstance(size, int)):
                    yield value, axis
        return
    numbers = set(_numbers((node.args, node.kwargs)))
    around = [(v, k) for v in (*tensors_in((node.args, node.kwargs)), *node.outputs) for k in range(v.rank)]
    for value, axis in around:
        size = value.shape[axis]
        mixed = any(v.shape[k] == size and (v, k) not in found for v, k in around if isinstance(v.shape[k], int))
        if (value, axis) in found and size in numbers and (mixed or (isinstance(size, int) and size <= 2)):
            yield value, axis


def _numbers(arg: Any) -> Iterator[int]:
    if isinstance(arg, tuple | list):
        for item in arg:  # pyright: ignore[reportUnknownVariableType]
            yield from _numbers(item)
    elif isinstance(arg, dict):
        yield from _numbers(tuple(arg.values()))  # pyright: ignore[reportUnknownArgumentType]
    elif type(arg) is int:
        yield arg


def axis_of(arg: Arg, layer: Layer) -> tuple[Value, int] | None:
    """The axis of a layer's tensor that an argument of its constructor is the size of."""
    weight = layer.tensors.get("weight")
    if arg.name in ("in_channels", "out_channels", "groups") and weight is not None:
        turned = layer.constructor.startswith("nn.ConvTranspose")
        depthwise = next((a.value for a in layer.args if a.name == "groups"), 1) == weight.shape[0]
        axis = 1 if (arg.name == "in_channels") != turned and arg.name != "groups" and not depthwise else 0
        return None if arg.value != weight.shape[axis] else (weight, axis)
    name, axis = _AXIS_OF_ARG.get(arg.name, ("", 0))
    value = layer.tensors.get(name)
    return (value, axis) if value is not None and type(arg.value) is int and value.shape[axis] == arg.value else None


def _sizes(group: set[tuple[Value, int]]) -> list[int]:
    return [size for value, axis in group if isinstance(size := value.shape[axis], int)]


def _base(groups: dict[Any, set[tuple[Value, int]]]) -> int:
    """The size that the others are multiples or parts of: of all, or else of the group that most tensors have."""
    held = [[(v, k) for v, k in group if v.weight is not None] for group in groups.values()]
    held.sort(key=len, reverse=True)
    most = _sizes({*held[0]}) if held else []
    for sizes in ([size for group in held for size in _sizes({*group})], most):
        if sizes and gcd(*sizes) in sizes:
            return gcd(*sizes)
    return Counter(most).most_common(1)[0][0] if most else 1


def _named(base: int, found: set[tuple[Value, int]], nodes: Sequence[Node]) -> Widths | None:
    """The width, and what it is called; None where it would be that of a part."""
    held = _sizes({(v, k) for v, k in found if v.weight is not None})
    tensors = {v for n in nodes for v in tensors_in((n.args, n.kwargs)) if v.weight is not None and v.is_float}
    channels = sum(isinstance(size, int) and size >= MIN_WIDTH for v in tensors for size in v.shape[:2])
    if base < MIN_WIDTH or len(held) < MIN_USES or 2 * len(held) < channels:
        return None
    literals: dict[Node, frozenset[int]] = {}
    for node in nodes:
        around = [(v, k) for v in (*tensors_in((node.args, node.kwargs)), *node.outputs) for k in range(v.rank)]
        sizes = {v.shape[k] for v, k in around if (v, k) in found}
        literals[node] = frozenset(n for n in _numbers((node.args, node.kwargs)) if n in sizes)
    name = "hidden_size" if any(n.op.name in ("sdpa", "multihead_attention", "embedding") for n in nodes) else "width"
    return Widths(name, base, frozenset(found), literals)
