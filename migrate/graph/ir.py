"""The common graph: values, nodes, and the graph that holds them. Knows no file format and no tensor library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from migrate.errors import Diagnostic
from migrate.graph.ops import Op
from migrate.graph.sizes import Dim, Size, SizeOf
from migrate.graph.weights import Weight

Shape = tuple[Size, ...]
Arg = Any
"""What a node's argument may be: a Value, a Size, a number, a string, None, a slice, or a tuple of these."""


@dataclass(frozen=True, slots=True)
class ByMode:
    """An argument that follows the mode: one thing while training, another in evaluation. Only evaluation is inferred."""

    training: Any
    evaluation: Any


@dataclass(eq=False, slots=True)
class Value:
    """A tensor of the graph. `static` is its content where that is known: an object array of numbers and sizes."""

    name: str
    dtype: str
    shape: Shape
    node: Node | None = None
    weight: Weight | None = None
    static: np.ndarray[Any, np.dtype[Any]] | None = None
    samples: list[Any] = field(default_factory=list, repr=False)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return "float" in self.dtype

    def __repr__(self) -> str:
        return f"%{self.name}: {self.dtype}{list(self.shape)}"


@dataclass(eq=False, slots=True)
class Node:
    """One call of an op. `scope` is its place in the module tree, `origin` the source nodes it came from.

    Control flow holds `blocks`, whose nodes use values from around the node as they are.
    """

    op: Op
    args: tuple[Arg, ...]
    kwargs: dict[str, Arg]
    outputs: tuple[Value, ...] = ()
    scope: tuple[str, ...] = ()
    origin: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()

    @property
    def output(self) -> Value:
        """The only output."""
        (value,) = self.outputs
        return value

    @property
    def has_effect(self) -> bool:
        """Whether it changes what the model holds, itself or in a block, so that it counts though nothing uses it."""
        return self.op.effect or any(node.has_effect for block in self.blocks for node in block.nodes)

    @property
    def inputs(self) -> list[Value]:
        """Every value that it uses, in order, sizes included (a size uses the value whose axis it is)."""
        return [*values_in((self.args, self.kwargs)), *captured(self, values_in)]

    @property
    def tensors(self) -> list[Value]:
        """Every value that it uses as a tensor, in order: among its arguments, or from around its blocks."""
        return [*tensors_in((self.args, self.kwargs)), *captured(self, tensors_in)]


@dataclass(eq=False, slots=True)
class Block:
    """Nodes that control flow runs: what they are given beside the values around them, and what they give."""

    inputs: list[Value] = field(default_factory=list[Value])
    nodes: list[Node] = field(default_factory=list[Node])
    outputs: list[Value] = field(default_factory=list[Value])


@dataclass(eq=False, slots=True)
class Graph:
    """Inputs, nodes in execution order, outputs; `notes` are the diagnostics gathered while it was built.

    Where the source tells, `state` holds every tensor that the model keeps, used or not, `classes` the class of each of its
    modules by path, and `called` the paths of those that are called and not only hold others; `versions` are those of
    modules' states that are not 1, `places` say the class with its file and line, for people, `arguments` are those with which
    torch's own class makes a module. `ranges` are those of free sizes by name (None: no end).
    """

    name: str = "model"
    inputs: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    notes: list[Diagnostic] = field(default_factory=list)
    batch: Dim | None = None
    batch_axes: dict[str, int] = field(default_factory=dict)
    state: list[Value] = field(default_factory=list)
    classes: dict[tuple[str, ...], str] = field(default_factory=dict)
    called: set[tuple[str, ...]] = field(default_factory=set)
    versions: dict[tuple[str, ...], int] = field(default_factory=dict)
    places: dict[tuple[str, ...], str] = field(default_factory=dict)
    arguments: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)
    ranges: dict[str, tuple[int, int | None]] = field(default_factory=dict)

    @property
    def all_nodes(self) -> list[Node]:
        """Every node, those in blocks before the node that holds them."""
        return list(walk(self.nodes))

    def users(self) -> dict[Value, list[Node]]:
        """For each value the nodes that use it, in order (a node once, sizes not counted).

        What a block gives is used by the node that holds the block.
        """
        users: dict[Value, list[Node]] = {}
        for node in walk(self.nodes):
            for value in dict.fromkeys(own_uses(node)):
                users.setdefault(value, []).append(node)
        return users

    def weights(self) -> list[Value]:
        """Every distinct weight value that a node or an output uses, in order of first use."""
        used = (v for node in walk(self.nodes) for v in own_uses(node))
        return list(dict.fromkeys(v for v in (*used, *self.outputs) if v.weight is not None))


def walk(nodes: Iterable[Node]) -> Iterator[Node]:
    """The nodes and those in their blocks, which come before the node that holds them."""
    for node in nodes:
        for block in node.blocks:
            yield from walk(block.nodes)
        yield node


def own_uses(node: Node) -> Iterator[Value]:
    """The values that a node uses as tensors, and what its blocks give."""
    yield from tensors_in((node.args, node.kwargs))
    for block in node.blocks:
        yield from block.outputs


def captured(node: Node, leaves: Callable[[Arg], Iterable[Value]]) -> list[Value]:
    """The values from around the node that its blocks use, each once; `leaves` says which of an argument's count."""
    found: dict[Value, None] = {}
    for block in node.blocks:
        made = set(block.inputs)
        for inner in block.nodes:
            used = (*leaves((inner.args, inner.kwargs)), *captured(inner, leaves))
            found.update(dict.fromkeys(v for v in used if v not in made))
            made.update(inner.outputs)
        found.update(dict.fromkeys(v for v in block.outputs if v not in made))
    return list(found)


def tensors_in(arg: Arg) -> Iterator[Value]:
    """The values that an argument holds as tensors."""
    found: list[Value] = []
    _collect(arg, Value, found)
    return iter(found)


def sizes_in(arg: Arg) -> Iterator[Dim]:
    """The run-time sizes that an argument holds."""
    found: list[Dim] = []
    _collect(arg, Dim, found)
    return iter(found)


def _collect(arg: Arg, kind: type, found: list[Any]) -> None:
    """Append the leaves of a kind. Every pass asks for them, and nested generators would take three times as long."""
    if isinstance(arg, kind):
        found.append(arg)
    elif isinstance(arg, (tuple, list)):  # a union would be built at every call
        for item in arg:  # pyright: ignore[reportUnknownVariableType]
            _collect(item, kind, found)
    elif isinstance(arg, dict):
        for item in arg.values():  # pyright: ignore[reportUnknownVariableType]
            _collect(item, kind, found)
    elif isinstance(arg, slice):
        _collect((arg.start, arg.stop, arg.step), kind, found)


def size_leaves(size: Any) -> Iterator[SizeOf]:
    """The axes of values from which a size is computed."""
    if isinstance(size, Dim):
        if isinstance(size.expr, SizeOf):
            yield size.expr
        else:
            for arg in size.expr.args:
                yield from size_leaves(arg)


def values_in(arg: Arg) -> Iterator[Value]:
    """Tensors, and the values whose sizes are used."""
    yield from tensors_in(arg)
    for size in sizes_in(arg):
        for leaf in size_leaves(size):
            yield leaf.value


def map_arg(arg: Arg, change: Callable[[Any], Any]) -> Arg:
    """Rebuild an argument with `change` applied to each leaf."""
    if isinstance(arg, tuple | list):
        return tuple(map_arg(item, change) for item in arg)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(arg, dict):
        return {key: map_arg(item, change) for key, item in arg.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(arg, slice):
        return slice(change(arg.start), change(arg.stop), change(arg.step))
    return change(arg)


def replace_values(nodes: Iterable[Node], stands: Mapping[Value, Value]) -> None:
    """Use what `stands` gives for a value wherever the nodes use it as a tensor, in their blocks as well."""

    def change(arg: Arg) -> Arg:
        return stands.get(arg, arg) if isinstance(arg, Value) else arg

    for node in walk(nodes):
        node.args, node.kwargs = map_arg(node.args, change), map_arg(node.kwargs, change)
        for block in node.blocks:
            block.outputs = [stands.get(value, value) for value in block.outputs]


def replace_value(nodes: Iterable[Node], old: Value, new: Value) -> None:
    """Use `new` wherever the nodes use `old` as a tensor, in their blocks as well."""
    replace_values(nodes, {old: new})
