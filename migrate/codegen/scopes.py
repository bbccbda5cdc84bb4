"""What each source scope becomes: a module that is called, a layer, a list, or nothing (its nodes join the module around it).

Knows the graph and which nodes are layers; builds no tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from migrate.codegen.homes import Homes
from migrate.codegen.layers import Layer, layer_of
from migrate.graph.ir import Graph, Node, Value, size_leaves, sizes_in, tensors_in

Path = tuple[str, ...]
MAX_DISSOLVED = 3  # a scope of so few calls and no tensor of its own reads better where it is used


@dataclass(slots=True, kw_only=True)
class Scopes:
    """`of` gives each node its module; `lists` are paths of numbered members, `layers` paths that are one layer.

    `home` is the source's own module of a layer, `held` are all that hold a tensor, `classes` what the source calls them;
    `holders` are never called: they only hold others.
    """

    of: dict[Node, Path]
    lists: set[Path] = field(default_factory=set[Path])
    layers: set[Path] = field(default_factory=set[Path])
    layer: dict[Node, Layer] = field(default_factory=dict[Node, Layer])
    home: dict[Node, Path] = field(default_factory=dict[Node, Path])
    held: set[Path] = field(default_factory=set[Path])
    classes: dict[Path, str] = field(default_factory=dict[Path, str])
    holders: set[Path] = field(default_factory=set[Path])

    def reads(self, node: Node) -> list[Value]:
        """The tensors that the emitted call reads, weights that it names itself included."""
        if node in self.layer:
            return list(self.layer[node].inputs)
        return list(tensors_in((node.args, node.kwargs)))


def live_nodes(graph: Graph, scopes: Scopes) -> list[Node]:
    """The nodes that matter: a layer may not need all that its node read (states that are zero, say)."""
    needed = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if needed & set(node.outputs):
            kept.append(node)
            needed.update(scopes.reads(node))
            needed.update(leaf.value for size in sizes_in((node.args, node.kwargs)) for leaf in size_leaves(size))
    return kept[::-1]


def _prefixes(path: Path) -> Iterator[Path]:
    for length in range(1, len(path) + 1):
        yield path[:length]


def _has_weight(node: Node) -> bool:
    return any(value.weight is not None for value in tensors_in((node.args, node.kwargs)))


def _is_layer_scope(path: Path, nodes: list[Node], scopes: Scopes) -> bool:
    """Whether every node of the scope is a call of one layer."""
    if len(nodes) == 1 and path[-1].isdigit() and nodes[0] not in scopes.layer:
        found = layer_of(nodes[0], in_list=True)
        if found is not None:
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
    scopes = Scopes(of={n: () if n in hoisted else tuple(s for s in n.scope if s) for n in graph.nodes})
    for node in graph.nodes:
        found = layer_of(node)
        if found is not None:
            scopes.layer[node] = found
    homes = Homes(graph)
    scopes.home = homes.settle(scopes.of, scopes.layer, live_nodes(graph, scopes))
    scopes.held, scopes.classes = set(homes.held), graph.classes
    scopes.holders = {path for path in graph.classes if path and path not in graph.called}
    members: dict[Path, list[Node]] = {}
    for node in live_nodes(graph, scopes):
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
