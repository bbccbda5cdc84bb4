"""What goes into each block and what comes out: tensors, and sizes that a block cannot read off a tensor of its own.

Also joins the calls of numbered members that feed each other into one call of an `nn.Sequential`. Knows no text.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from migrate.codegen.scopes import Scopes
from migrate.codegen.tree import (
    Block,
    BlockCall,
    ChainCall,
    ControlCall,
    FunctionCall,
    Item,
    LayerCall,
    Place,
    blocks_of,
    borrowed_by,
    inputs_of,
    outputs_of,
)  # fmt: skip
from migrate.graph.ir import Graph, Node, Value, size_leaves, sizes_in
from migrate.graph.sizes import Dim, SizeOf


@dataclass(slots=True)
class SizeSources:
    """Where each block reads its sizes: `read[(item, leaf)]` is a value and an axis; `named` ones must be variables."""

    read: dict[tuple[int, Dim], tuple[Value, int]] = field(default_factory=dict[tuple[int, Dim], tuple[Value, int]])
    named: set[tuple[Place, Value]] = field(default_factory=set[tuple[Place, Value]])


def find_interfaces(root: Block, graph: Graph, scopes: Scopes, nodes: list[Node]) -> SizeSources:
    """Fill in `ext`, `results` and `sizes` of every block, and join chains."""
    root.results = list(dict.fromkeys(v for v in graph.outputs if v.node is not None))
    _results(root, _users(nodes, scopes), set(graph.outputs), scopes)
    sources = SizeSources()
    for block in blocks_of(root):
        _inputs(block, graph)
        if block is root:
            block.ext = list(graph.inputs)
        _join_chains(block)
        _find_sizes(block, sources)
    if root.sizes:
        raise RuntimeError(f"no tensor has the sizes {root.sizes}")
    return sources


# ---- tensors


def _calls_in(block: Block) -> list[BlockCall]:
    return [item for item in block.items if isinstance(item, BlockCall)]


def _users(nodes: list[Node], scopes: Scopes) -> dict[Value, list[Node]]:
    """Which nodes use a value; what is used in a block of control flow is used by the node that holds the block."""
    users: dict[Value, list[Node]] = {}
    for node in nodes:
        for value in scopes.reads(node):
            users.setdefault(value, []).append(node)
    return users


def _results(block: Block, users: dict[Value, list[Node]], outside: set[Value], scopes: Scopes) -> None:
    """What each inner block must return: values used beyond the call, by any of its calls. Outer blocks first."""
    inner: dict[int, list[BlockCall]] = {}
    for call in _calls_in(block):
        inner.setdefault(id(call.block), []).append(call)
    for calls in inner.values():
        own = calls[0].block
        needed: set[Value] = set()
        for call in calls:
            nodes = set(call.nodes)
            for value in (v for node in own.nodes for v in node.outputs):
                mine = call.own(value)
                if mine in outside or any(user not in nodes for user in users.get(mine, ())):
                    needed.add(value)
        own.results = [v for node in own.nodes for v in node.outputs if v in needed]
        _results(own, users, needed, scopes)
    for item in block.items:
        for made, call in zip(item.node.blocks, item.calls, strict=True) if isinstance(item, ControlCall) else ():
            if call is not None:
                inner_scopes = scopes.inner[made]
                _results(call.block, _users(call.nodes, inner_scopes), set(made.outputs), inner_scopes)


def _inputs(block: Block, graph: Graph) -> None:
    made = {v for item in block.items for v in outputs_of(item)}
    block.ext = list(dict.fromkeys(v for item in block.items for v in inputs_of(item) if v not in made))
    makes = any(isinstance(item, FunctionCall) and item.node.op.makes for item in block.items)
    if block.borrows:
        passed = [v for v in block.results if v not in made and (v.weight is None or v.weight.homes)]
        borrowed = [v for item in block.items for v in borrowed_by(item)]
        block.ext = list(dict.fromkeys([*block.ext, *passed, *borrowed]))
    if makes and not block.ext:
        block.ext = graph.inputs[:1]  # tells the device


# ---- chains


def _join_chains(block: Block) -> None:
    uses = Counter(v for item in block.items for v in inputs_of(item))
    kept = set(block.results)
    items: list[Item] = []
    i = 0
    while i < len(block.items):
        calls = _chain_at(block.items, i, uses, kept)
        if calls:
            place = calls[0].place.parent
            assert place is not None
            place.is_chain = True
            items.append(ChainCall(place, calls))
            i += len(calls)
        else:
            items.append(block.items[i])
            i += 1
    block.items = items


def _chain_at(items: list[Item], start: int, uses: Counter[Value], kept: set[Value]) -> list[LayerCall | BlockCall]:
    first = items[start]
    if not isinstance(first, LayerCall | BlockCall):
        return []
    holder = first.place.parent
    if holder is None or not holder.is_list or len(holder.children) < 2:
        return []
    members = sorted(holder.children.items(), key=lambda m: int(m[0]))
    calls: list[LayerCall | BlockCall] = []
    for item, (_, member) in zip(items[start : start + len(members)], members, strict=False):
        if not isinstance(item, LayerCall | BlockCall) or item.place is not member or not _is_link(item):
            return []
        if calls and outputs_of(calls[-1]) != inputs_of(item):
            return []
        calls.append(item)
    inner = [outputs_of(call)[0] for call in calls[:-1]]
    called = Counter(id(i.place) for i in items if isinstance(i, LayerCall | BlockCall))
    once = all(called[id(member)] == 1 for _, member in members)
    ok = len(calls) == len(members) and once and all(uses[v] == 1 and v not in kept for v in inner)
    return calls if ok else []


def _is_link(item: LayerCall | BlockCall) -> bool:
    if isinstance(item, LayerCall) and item.layer.kind != "plain":
        return False
    if isinstance(item, BlockCall) and (item.sizes or item.renamed or borrowed_by(item)):
        return False
    return len(inputs_of(item)) == 1 and len(outputs_of(item)) == 1


# ---- sizes


def sizes_of(item: Item) -> list[Dim]:
    """The sizes that an item is given."""
    if isinstance(item, FunctionCall):
        return list(sizes_in((item.node.args, item.node.kwargs)))
    if isinstance(item, ControlCall):
        own = sizes_in((item.node.args, item.node.kwargs))
        return [*own, *(size for call in item.calls if call is not None for size in call.sizes)]
    return item.sizes if isinstance(item, BlockCall) else []


def _find_sizes(block: Block, sources: SizeSources) -> None:
    uses = Counter(v for item in block.items for v in inputs_of(item))
    named = {*block.ext, *block.results, *(v for v, n in uses.items() if n > 1)}
    known = [v for v in block.ext if v.weight is None]
    for item in list(block.items):
        for size in sizes_of(item):
            found = {leaf: _leaf_source(leaf, item, known, named, block) for leaf in size_leaves(size)}
            if any(source is None for source in found.values()):
                if size not in block.sizes:
                    block.sizes.append(size)
                continue
            for leaf, source in found.items():
                assert source is not None
                sources.read[id(item), leaf_size(leaf)] = source
                sources.named.add((block.place, source[0]))
                named.add(source[0])
        known += outputs_of(item)
        if len(outputs_of(item)) > 1:
            named.update(outputs_of(item))


def leaf_size(leaf: SizeOf) -> Dim:
    """The size that a leaf of an expression is."""
    size = leaf.value.shape[leaf.axis]
    assert isinstance(size, Dim)
    return size


def _leaf_source(
    leaf: SizeOf, item: Item, known: list[Value], named: set[Value], block: Block
) -> tuple[Value, int] | None:
    """The nearest tensor that has the size: an input of the call, the one it was first seen on, or any other."""
    size = leaf_size(leaf)
    own = [v for v in inputs_of(item) if v in known]
    first = [leaf.value] if leaf.value in known else []
    other = known[::-1]
    candidates = [v for v in (*own, *first, *other) if v in named] + own + first + other
    for value in candidates:
        if value is leaf.value and value.shape[leaf.axis] == size:
            return value, leaf.axis
        for axis, found in enumerate(value.shape):
            if found == size:
                return value, axis
    return _expose(leaf, size, item, block)


def _expose(leaf: SizeOf, size: Dim, item: Item, block: Block) -> tuple[Value, int] | None:
    """A size that only a value inside an earlier inner block has: that block returns the value as well."""
    for earlier in block.items:
        if earlier is item:
            return None
        if isinstance(earlier, BlockCall) and leaf.value.node in earlier.nodes and earlier.renamed is None:
            _return(earlier.block, leaf.value)
            return leaf.value, leaf.axis
        if isinstance(earlier, ChainCall):
            for call in earlier.calls:
                if isinstance(call, BlockCall) and leaf.value.node in call.nodes:
                    at = block.items.index(earlier)
                    block.items[at : at + 1] = earlier.calls
                    earlier.place.is_chain = False
                    _return(call.block, leaf.value)
                    return leaf.value, leaf.axis
    return None


def _return(block: Block, value: Value) -> None:
    if value in block.results:
        return
    block.results = [v for node in block.nodes for v in node.outputs if v in {*block.results, value}]
    for item in block.items:
        if isinstance(item, BlockCall) and value.node in item.nodes:
            _return(item.block, value)
