"""Where the source's own modules hold their tensors, and which layers and scopes follow from it.

A layer whose tensors all live in one module, under the layer's own names for them, is that module, wherever it is called
from. Any other tensor is an attribute of the module that holds it. A call that reads a tensor of a module that is not its
own moves outwards, to where both can be named. Knows the graph and scopes; builds no tree.
"""

from __future__ import annotations

from collections.abc import Iterable

from migrate.codegen.layers import Layer
from migrate.graph.ir import Graph, Node, Value

Path = tuple[str, ...]
MADE_BY_LAYERS = {"nn.BatchNorm": ("num_batches_tracked",)}


def split_key(key: str) -> tuple[Path, str]:
    """The module's path and the attribute of a name of the state."""
    *path, attr = key.split(".")
    return tuple(path), attr


def homes_of(value: Value) -> list[tuple[Path, str]]:
    """Every module and attribute that holds the tensor in the source."""
    return [split_key(key) for key in value.weight.homes] if value.weight is not None else []


def made_by(layer: Layer) -> tuple[str, ...]:
    """The attributes that a layer has besides the tensors that it computes with."""
    return next((names for start, names in MADE_BY_LAYERS.items() if layer.constructor.startswith(start)), ())


def common(left: Path, right: Path) -> Path:
    """The longest path that leads to both."""
    length = 0
    while length < min(len(left), len(right)) and left[length] == right[length]:
        length += 1
    return left[:length]


class Homes:
    """The modules of a graph's source, by what they hold. Empty where the source tells of none."""

    def __init__(self, graph: Graph) -> None:
        self.held: dict[Path, set[str]] = {}
        for value in graph.state:
            for path, attr in homes_of(value):
                self.held.setdefault(path, set()).add(attr)
        self.nodes: dict[Path, list[Node]] = {}

    def settle(self, of: dict[Node, Path], layer: dict[Node, Layer], live: list[Node]) -> dict[Node, Path]:
        """Take back layers that are no module of the source, move calls to where their tensors can be named, and return
        the module of each layer that has one. The modules and layers of nodes are changed in place; `live` nodes count.
        """
        for node in live:
            for length in range(1, len(of[node]) + 1):
                self.nodes.setdefault(of[node][:length], []).append(node)
        found = {node: home for node, one in layer.items() if (home := self._home(one, of[node])) is not None}
        wrong = self._shared_wrongly(found, of, layer)
        for node, one in list(layer.items()):
            home = found.get(node)
            at_home = any(homes_of(value) for value in one.tensors.values())
            if at_home and (home is None or home in wrong):
                del layer[node]
                found.pop(node, None)
        for node, path in of.items():
            home = found.get(node)
            if home is None:
                of[node] = _within(path, node.tensors)
            elif path != home:
                of[node] = common(path, home[:-1])
        return found

    def is_counted(self, count: Node, home: dict[Node, Path], layer: dict[Node, Layer]) -> bool:
        """Whether a layer counts the batches itself that a node counts."""
        ((path, attr),) = homes_of(count.args[0])[:1]
        return any(attr in made_by(layer[node]) for node, place in home.items() if place == path)

    def _home(self, layer: Layer, scope: Path) -> Path | None:
        """The module that holds just the layer's tensors, under the layer's names; the call's own first."""
        places: list[set[Path]] = []
        for attr, value in layer.tensors.items():
            inner = attr.count(".")
            homes = ((*path, name) for path, name in homes_of(value))
            places.append({key[: -inner - 1] for key in homes if ".".join(key[-inner - 1 :]) == attr})
        if not places:
            return None
        fitting = [path for path in set.intersection(*places) if self._holds_only(path, layer)]
        return min(fitting, key=lambda path: (path != scope, path), default=None)

    def _holds_only(self, path: Path, layer: Layer) -> bool:
        below = {other[len(path) :]: names for other, names in self.held.items() if other[: len(path)] == path}
        held = {".".join((*inner, name)) for inner, names in below.items() for name in names}
        return bool(path) and held <= {*layer.tensors, *made_by(layer)}

    def _shared_wrongly(self, found: dict[Node, Path], of: dict[Node, Path], layer: dict[Node, Layer]) -> set[Path]:
        """Modules that do more than to call the one layer, or call it in two ways."""
        wrong: set[Path] = set()
        keys: dict[Path, set[object]] = {}
        for node, home in found.items():
            keys.setdefault(home, set()).add(layer[node].key)
            wrong |= {home for other in self.nodes.get(home, ()) if found.get(other) != home}
        return wrong | {home for home, kinds in keys.items() if len(kinds) > 1}


def _within(path: Path, values: Iterable[Value]) -> Path:
    """The innermost module around `path` in which all the tensors can be named."""
    for value in values:
        homes = [home for home, _ in homes_of(value)]
        if homes:
            path = max((common(path, home) for home in homes), key=len)
    return path
