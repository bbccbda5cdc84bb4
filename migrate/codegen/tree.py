"""The module tree: which module calls what, in which order, with which values in and out.

A `Place` is a module of the emitted model, a `Block` the body of one that is called, and its items are calls: of a
function, of a layer, of another block. Knows no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from migrate.codegen.layers import Layer
from migrate.codegen.names import is_attribute
from migrate.graph.ir import Node, Value, tensors_in
from migrate.graph.sizes import Dim, SizeOf, apply

Path = tuple[str, ...]


@dataclass(eq=False, slots=True)
class Place:
    """A module: a layer, a list of numbered members, a called block, or a mere container (none of these).

    `attr` is its final name (a number in a list), `loose` the tensors it holds itself, by attribute, `made` those that its
    layer makes beyond what it computes with. `cls` is the source's class, where the source tells, `origin` its place,
    `version` that of its state.
    """

    segment: str
    parent: Place | None = None
    children: dict[str, Place] = field(default_factory=dict[str, "Place"])
    layer: Layer | None = None
    block: Block | None = None
    is_list: bool = False
    is_dict: bool = False
    is_chain: bool = False
    attr: str = ""
    loose: dict[str, Value] = field(default_factory=dict[str, Value])
    made: dict[str, Value] = field(default_factory=dict[str, Value])
    cls: str = ""
    origin: str = ""
    version: int = 1
    nodes: list[Node] = field(default_factory=list[Node])

    def child(self, segment: str) -> Place:
        """The member of that segment, made where it is new."""
        if segment not in self.children:
            self.children[segment] = Place(segment, self)
        return self.children[segment]

    @property
    def key(self) -> str:
        """The path as in `named_modules`."""
        if self.parent is None:
            return ""
        outer = self.parent.key
        return f"{outer}.{self.attr}" if outer else self.attr

    def reference(self, base: Place) -> str:
        """How code in `base` writes this module."""
        if self is base:
            return "self"
        assert self.parent is not None
        outer = self.parent.reference(base)
        if self.parent.is_dict:
            return f'{outer}["{self.attr}"]'
        if self.parent.is_list:
            return f"{outer}[{self.attr}]"
        return f"{outer}.{self.attr}" if is_attribute(self.attr) else f'{outer}.get_submodule("{self.attr}")'

    @property
    def is_container(self) -> bool:
        """Whether it is one of torch's own containers, with no class to write."""
        return self.is_list or self.is_dict

    def is_within(self, base: Place) -> bool:
        """Whether `base` is this place or holds it."""
        return self is base or (self.parent is not None and self.parent.is_within(base))


@dataclass(eq=False, slots=True)
class FunctionCall:
    """A node written as an expression."""

    node: Node


@dataclass(eq=False, slots=True)
class LayerCall:
    """A node that is a call of a layer."""

    node: Node
    layer: Layer
    place: Place


@dataclass(eq=False, slots=True)
class BlockCall:
    """A call of a block. A further call of the same block has `renamed`: the block's values -> those of this call."""

    block: Block
    nodes: list[Node]
    renamed: dict[Value, Value] | None = None

    @property
    def place(self) -> Place:
        """The called module."""
        return self.block.place

    @property
    def ext(self) -> list[Value]:
        """The tensors it is given."""
        return [self.own(v) for v in self.block.ext]

    @property
    def results(self) -> list[Value]:
        """The tensors it returns."""
        return [self.own(v) for v in self.block.results]

    @property
    def sizes(self) -> list[Dim]:
        """The sizes it is given as numbers."""
        return [rename_size(size, self.renamed) if self.renamed else size for size in self.block.sizes]

    def own(self, value: Value) -> Value:
        """This call's value for one of the block's."""
        return self.renamed.get(value, value) if self.renamed else value


@dataclass(eq=False, slots=True)
class ChainCall:
    """One call of an `nn.Sequential`: the calls of its members, in order."""

    place: Place
    calls: list[LayerCall | BlockCall]


@dataclass(eq=False, slots=True)
class ControlCall:
    """Control flow, and for each of its blocks the call of the module that the block is; None for a block without nodes."""

    node: Node
    calls: tuple[BlockCall | None, ...]

    @property
    def captured(self) -> list[Value]:
        """The activations from around it that its blocks are given or give, each once."""
        found: dict[Value, None] = {}
        for block, call in zip(self.node.blocks, self.calls, strict=True):
            used = block.outputs if call is None else call.ext
            found.update(dict.fromkeys(v for v in used if v not in block.inputs and v.weight is None))
        return list(found)


Item = FunctionCall | LayerCall | BlockCall | ChainCall | ControlCall


@dataclass(eq=False, slots=True)
class Block:
    """The body of a module: items in order; `ext` tensors in, `sizes` in as numbers, `results` out.

    One that `borrows` is of control flow: a tensor that a module of the source holds is among what it is given.
    """

    place: Place
    nodes: list[Node]
    items: list[Item] = field(default_factory=list[Item])
    ext: list[Value] = field(default_factory=list[Value])
    sizes: list[Dim] = field(default_factory=list[Dim])
    results: list[Value] = field(default_factory=list[Value])
    borrows: bool = False


def borrowed_by(item: Item) -> list[Value]:
    """The tensors of the source's own modules that an item reads."""
    if isinstance(item, FunctionCall):
        read = list(tensors_in((item.node.args, item.node.kwargs)))
    elif isinstance(item, LayerCall):
        read = list(item.layer.inputs)
    elif isinstance(item, BlockCall):
        read = item.ext
    else:
        read = [v for call in item.calls if call is not None for v in borrowed_by(call)]
        read += tensors_in((item.node.args, item.node.kwargs)) if isinstance(item, ControlCall) else ()
    return [v for v in read if v.weight is not None and v.weight.homes]


def rename_size(size: Dim, renamed: dict[Value, Value]) -> Dim:
    """The same size read from other values."""
    if isinstance(size.expr, SizeOf):
        value = renamed.get(size.expr.value, size.expr.value)
        found = value.shape[size.expr.axis]
        return Dim(
            found.values if isinstance(found, Dim) else size.values, SizeOf(value, size.expr.axis, size.expr.name)
        )
    args = tuple(rename_size(a, renamed) if isinstance(a, Dim) else a for a in size.expr.args)
    made = apply(size.expr.op, *args)
    return made if isinstance(made, Dim) else size


def inputs_of(item: Item) -> list[Value]:
    """The activations that an item reads, an occurrence each."""
    if isinstance(item, FunctionCall):
        return [v for v in tensors_in((item.node.args, item.node.kwargs)) if v.weight is None]
    if isinstance(item, LayerCall):
        return [v for v in item.layer.inputs if v.weight is None]
    if isinstance(item, BlockCall):
        return [v for v in item.ext if v.weight is None]
    if isinstance(item, ControlCall):
        return [*(v for v in tensors_in((item.node.args, item.node.kwargs)) if v.weight is None), *item.captured]
    return inputs_of(item.calls[0])


def outputs_of(item: Item) -> list[Value]:
    """The values that an item makes, in order."""
    if isinstance(item, FunctionCall | LayerCall | ControlCall):
        return list(item.node.outputs)
    if isinstance(item, BlockCall):
        return item.results
    return outputs_of(item.calls[-1])


def blocks_of(block: Block) -> list[Block]:
    """The block and every block below it, inner ones first, each once."""
    found: dict[int, Block] = {}

    def visit(one: Block) -> None:
        for item in one.items:
            for call in item.calls if isinstance(item, ChainCall | ControlCall) else [item]:
                if isinstance(call, BlockCall) and id(call.block) not in found:
                    visit(call.block)
        found[id(one)] = one

    visit(block)
    return list(found.values())


def runtime_of(items: Sequence[Item]) -> tuple[str, ...]:
    """The modules of the runtime that the items call."""
    targets = {item.node.op.target.partition(":")[0] for item in items if isinstance(item, FunctionCall)}
    return tuple(sorted(t for t in targets if t.startswith("runtime.")))


def collect_levels(place: Place, levels: dict[int, list[Place]]) -> int:
    """Sort the places that need a class by how deeply they nest; returns the place's own level."""
    inner = max((collect_levels(child, levels) for child in place.children.values()), default=-1)
    if place.layer is not None:
        return -1
    if place.is_container:
        return inner
    levels.setdefault(inner + 1, []).append(place)
    return inner + 1
