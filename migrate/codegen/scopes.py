"""What each source scope becomes: a module that is called, a layer, a list, or nothing (its nodes join the module around it).

Knows the graph and which nodes are layers; builds no tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from migrate.codegen.homes import Homes, homes_of
from migrate.codegen.layers import Layer, layer_of
from migrate.graph import ir
from migrate.graph.ir import Graph, Node, Value, size_leaves, sizes_in, tensors_in

Path = tuple[str, ...]
_MODULE = re.compile(r"[a-z][a-z0-9_]*")
MAX_DISSOLVED = 3  # a scope of so few calls and no tensor of its own reads better where it is used


@dataclass(slots=True, kw_only=True)
class Scopes:
    """`of` gives each node its module; `lists` are paths of numbered members, `layers` paths that are one layer.

    `home` is the source's own module of a layer, `held` are all that hold a tensor, `classes` what the source calls them,
    `places` where those are written, `versions` of their states; `holders` are never called: they only hold others.
    `inner` has the scopes of each block of control flow, which is a module of its own; `layer` is one for all.
    """

    of: dict[Node, Path]
    outputs: list[Value]
    lists: set[Path] = field(default_factory=set[Path])
    layers: set[Path] = field(default_factory=set[Path])
    layer: dict[Node, Layer] = field(default_factory=dict[Node, Layer])
    home: dict[Node, Path] = field(default_factory=dict[Node, Path])
    held: set[Path] = field(default_factory=set[Path])
    classes: dict[Path, str] = field(default_factory=dict[Path, str])
    versions: dict[Path, int] = field(default_factory=dict[Path, int])
    places: dict[Path, str] = field(default_factory=dict[Path, str])
    holders: set[Path] = field(default_factory=set[Path])
    inner: dict[ir.Block, Scopes] = field(default_factory=dict[ir.Block, "Scopes"])
    name: str = ""
    is_block: bool = False

    def facts_of(self, path: Path) -> tuple[str, str, int]:
        """The source's class of a module, where that is written, and the version of its state."""
        return self.classes.get(path, ""), self.places.get(path, ""), self.versions.get(path, 1)

    def reads(self, node: Node) -> list[Value]:
        """The tensors that the emitted call reads, weights that it names itself included."""
        if node in self.layer:
            return list(self.layer[node].inputs)
        return [*tensors_in((node.args, node.kwargs)), *self._captured(node, Scopes.reads)]

    def sizes(self, node: Node) -> list[Value]:
        """The values whose sizes the emitted call reads."""
        own = [leaf.value for size in sizes_in((node.args, node.kwargs)) for leaf in size_leaves(size)]
        return [*own, *self._captured(node, Scopes.sizes)]

    def _captured(self, node: Node, used: Callable[[Scopes, Node], list[Value]]) -> list[Value]:
        """What the blocks of a node use of the values around it."""
        found: list[Value] = []
        for block in node.blocks:
            scopes = self.inner[block]
            nodes = live_nodes(scopes)
            made = {*block.inputs, *(v for inner in nodes for v in inner.outputs)}
            found += [v for inner in nodes for v in used(scopes, inner) if v not in made]
            found += [v for v in block.outputs if v not in made]
        return found


def live_nodes(scopes: Scopes) -> list[Node]:
    """The nodes that matter: a layer may not need all that its node read (states that are zero, say)."""
    needed = set(scopes.outputs)
    kept: list[Node] = []
    for node in reversed(scopes.of):
        if node.has_effect or needed & set(node.outputs):
            kept.append(node)
            needed.update(scopes.reads(node))
            needed.update(scopes.sizes(node))
    return kept[::-1]


def _prefixes(path: Path) -> Iterator[Path]:
    for length in range(1, len(path) + 1):
        yield path[:length]


def _has_weight(node: Node) -> bool:
    return bool(node.blocks) or any(value.weight is not None for value in tensors_in((node.args, node.kwargs)))


def _is_layer_scope(path: Path, nodes: list[Node], scopes: Scopes) -> bool:
    """Whether every node of the scope is a call of one layer."""
    if len(nodes) == 1 and path[-1].isdigit() and nodes[0] not in scopes.layer:
        found = layer_of(nodes[0], in_list=True)
        if found is not None and not (scopes.is_block and _is_at_home(found)):
            scopes.layer[nodes[0]] = found
    layers = [scopes.layer.get(node) for node in nodes]
    first = layers[0]
    if first is None or any(scopes.of[node] != path for node in nodes):
        return False
    if any(scopes.home.get(node, path) != path for node in nodes):
        return False
    return all(layer is not None and layer.key == first.key for layer in layers)


def find_scopes(graph: Graph, hoisted: set[Node]) -> Scopes:
    """Classify the scopes of a graph; `hoisted` nodes are put into the model itself."""
    of = {n: () if n in hoisted else tuple(s for s in n.scope if s) for n in graph.nodes}
    scopes = _classified(Scopes(of=of, outputs=graph.outputs), graph)
    _share_layers(scopes, scopes.layer)
    return scopes


def _share_layers(scopes: Scopes, layer: dict[Node, Layer]) -> None:
    """Let the scopes of blocks have the one table of layers."""
    for inner in scopes.inner.values():
        layer.update(inner.layer)
        _share_layers(inner, layer)
        inner.layer = layer


def _block_scopes(block: ir.Block, holder: Node) -> Scopes:
    """The scopes of a block: what all its nodes have in common, or have in common with the holder, is left out."""
    paths = {node: tuple(s for s in node.scope if s) for node in block.nodes}
    outer = _common([tuple(s for s in holder.scope if s), *paths.values()])
    shared = _common(list(paths.values()))
    inner = shared if len(shared) > len(outer) else outer
    name = inner[-1] if len(inner) > len(outer) and _MODULE.fullmatch(inner[-1]) else ""
    of = {node: path[len(inner) :] for node, path in paths.items()}
    return _classified(Scopes(of=of, outputs=block.outputs, name=name, is_block=True), None)


def _is_at_home(layer: Layer) -> bool:
    """Whether a module of the source holds its tensors: it is no layer of a block, which is only given them."""
    return any(homes_of(value) for value in layer.tensors.values())


def _common(paths: list[Path]) -> Path:
    if not paths:
        return ()
    low, high = min(paths), max(paths)
    length = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    return low[:length]


def _classified(scopes: Scopes, graph: Graph | None) -> Scopes:
    """Fill in all but `of`; the graph tells which modules the source has. A block, without one, is given their tensors."""
    for node in scopes.of:
        found = layer_of(node)
        if found is not None:
            scopes.layer[node] = found
        for block in node.blocks:
            scopes.inner[block] = _block_scopes(block, node)
    if graph is None:
        scopes.layer = {node: one for node, one in scopes.layer.items() if not _is_at_home(one)}
    else:
        homes = Homes(graph)
        counts = [node for node in scopes.of if node.op.name == "count_batch"]
        scopes.home = homes.settle(scopes.of, scopes.layer, [n for n in live_nodes(scopes) if n not in counts])
        for node in counts:
            if homes.is_counted(node, scopes.home, scopes.layer):
                del scopes.of[node]
        scopes.held, scopes.classes, scopes.versions = set(homes.held), graph.classes, graph.versions
        scopes.places = graph.places
        scopes.holders = {path for path in graph.classes if path and path not in graph.called}
    members: dict[Path, list[Node]] = {}
    for node in live_nodes(scopes):
        for prefix in _prefixes(scopes.of[node]):
            members.setdefault(prefix, []).append(node)
    scopes.layers = {path for path, nodes in members.items() if _is_layer_scope(path, nodes, scopes)}
    dissolved = {path for path, nodes in members.items() if _dissolves(path, nodes, scopes)}
    for node, path in scopes.of.items():
        gone = next((p for p in _prefixes(path) if p in dissolved), None)
        if gone is not None:
            scopes.of[node] = gone[:-1]
    scopes.lists = _lists(scopes)
    for node, path in scopes.of.items():
        while path in scopes.lists:
            path = path[:-1]
        scopes.of[node] = path
    return scopes


def _dissolves(path: Path, nodes: list[Node], scopes: Scopes) -> bool:
    if path in scopes.layers or path in scopes.held or len(nodes) > MAX_DISSOLVED:
        return False
    return not any(_has_weight(node) or node in scopes.layer for node in nodes)


def _lists(scopes: Scopes) -> set[Path]:
    """Paths whose members are all numbered; a dissolved member leaves a gap, not a name."""
    members: dict[Path, set[str]] = {}
    for path in (*scopes.of.values(), *scopes.home.values(), *scopes.held):
        for prefix in _prefixes(path):
            members.setdefault(prefix[:-1], set()).add(prefix[-1])
    return {p for p, names in members.items() if p and all(n.isdigit() and str(int(n)) == n for n in names)}
