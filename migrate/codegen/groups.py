"""Modules of a source that names none: what comes again and again in a long run of calls is one, made several times.

    conv, norm, relu, conv, norm, relu, conv, norm, add, relu, conv, norm, relu, ...
    (conv, norm, relu) x 2, conv, norm, add, relu, (conv, norm, relu) x 2, ...         cells: a layer and what follows it alone
    [((conv, norm, relu) x 2, conv, norm, add, relu) x 8]                              runs, the one that saves most first

What is the same here is a guess, that the texts of the classes confirm or not. Knows the graph and which nodes are layers;
builds no tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from migrate.codegen.scopes import Scopes
from migrate.codegen.units import Unit, by_use, mark_of, marks_of, read_by
from migrate.graph.ir import Node, Value

FOUND = "\0+"  # in the segment of a module that the source does not have: its role, and a number of its own
_ANCHORS = ("nn.Conv", "nn.Linear")
_FOLLOWS = frozenset({"activation", "norm", "elementwise"})
_MIN_CELL = 3  # nodes of a cell, and cells that are the same
_MIN_RUN = 4  # nodes
_LONGEST = 48  # items of a run
_CLASS = 2  # lines of a class beyond its calls
_MAX_GIVEN, _MAX_MADE = 4, 2


@dataclass(eq=False, slots=True)
class Group(Unit):
    """Items that are one module, or the members of one list."""

    items: list[Unit]
    role: str
    is_list: bool = False


def find_groups(units: Sequence[Unit], scopes: Scopes) -> dict[Node, tuple[str, ...]]:
    """The path of each node that is in a module that was found; a list's members have numbers for names."""
    uses = Counter([*read_by(scopes.of), *scopes.outputs])
    items = _linked(_with_cells(by_use(units), scopes, uses), scopes, uses)
    while (found := _best_run(items, scopes, uses)) is not None:
        items = _linked(_with_runs(items, *found), scopes, uses)
    first = items[0]
    if isinstance(first, Group) and not first.is_list and not _again(first, items, scopes):
        first.role = "stem"
    paths: dict[Node, tuple[str, ...]] = {}
    for number, item in enumerate(items):
        paths.update(_paths(item, f"{FOUND}{number}"))
    return paths


def _paths(item: Unit, name: str) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """The paths of the nodes of an item; `name` is its number in a list, or what tells it from others of its role."""
    if not isinstance(item, Group):
        return
    segment = name if name.isdigit() else f"{item.role}{name}"
    for number, inner in enumerate(item.items):
        below = dict(_paths(inner, str(number) if item.is_list else f"{FOUND}{number}"))
        yield from ((node, (segment, *below.get(node, ()))) for node in inner.nodes)


def _again(group: Group, items: Sequence[Unit], scopes: Scopes) -> bool:
    """Whether another of the items is the same, beside it and not in a module that was found."""
    kind = _kind(group.nodes, scopes)
    return any(item is not group and _kind(item.nodes, scopes) == kind for item in items)


# ---- cells


def _with_cells(units: list[Unit], scopes: Scopes, uses: Counter[Value]) -> list[Unit]:
    """The units, each cell that comes several times made one; it stands where its layer stood."""
    user = {v: unit for unit in units for v in read_by(unit.nodes)}
    chains = [_chain(unit, scopes, uses, user) for unit in units if _is_anchor(unit, scopes)]
    kinds = [_kind([node for unit in chain for node in unit.nodes], scopes) for chain in chains]
    counts = Counter(kinds)
    cells: dict[Unit, Group] = {}
    gone: set[Unit] = set()
    for chain, kind in zip(chains, kinds, strict=True):
        if len(chain) >= _MIN_CELL and counts[kind] >= _MIN_CELL:
            cells[chain[0]] = _group(chain, scopes.layer[chain[0].nodes[0]].role)
            gone.update(chain[1:])
    return [cells.get(unit, unit) for unit in units if unit not in gone]


def _is_anchor(unit: Unit, scopes: Scopes) -> bool:
    layer = scopes.layer.get(unit.nodes[0])
    return unit.is_free and layer is not None and layer.constructor.startswith(_ANCHORS)


def _chain(unit: Unit, scopes: Scopes, uses: Counter[Value], user: dict[Value, Unit]) -> list[Unit]:
    """A layer and what needs nothing else than what comes before it."""
    chain = [unit]
    while uses[last := unit.nodes[-1].outputs[0]] == 1 and last in user:
        unit = user[last]
        node = unit.nodes[0]
        alone = unit.is_free and len(node.outputs) == 1 and set(read_by(unit.nodes)) == {last}
        if not alone or _is_anchor(unit, scopes) or node.op.family not in _FOLLOWS:
            break
        chain.append(unit)
    return chain


def _kind(nodes: Sequence[Node], scopes: Scopes) -> Hashable:
    return tuple(mark_of(node, scopes) for node in nodes)


def _group(items: Sequence[Unit], role: str, is_list: bool = False) -> Group:
    nodes = [node for item in items for node in item.nodes]
    return Group(nodes, None, False, list(items), role, is_list)


# ---- lists


def _linked(items: list[Unit], scopes: Scopes, uses: Counter[Value]) -> list[Unit]:
    """The items, equal groups that feed each other made one list."""
    found: list[Unit] = []
    last: Hashable = None
    for item in items:
        kind = _kind(item.nodes, scopes) if isinstance(item, Group) and not item.is_list else None
        before = found[-1] if found and kind is not None and kind == last else None
        if before is not None and _feeds(before, item, uses):
            earlier = before.items if isinstance(before, Group) and before.is_list else [before]
            found[-1] = _group([*earlier, item], f"{_role(item)}s", is_list=True)
        else:
            found.append(item)
            last = kind
    return found


def _role(item: Unit) -> str:
    return item.role if isinstance(item, Group) else ""


def _feeds(before: Unit, item: Unit, uses: Counter[Value]) -> bool:
    """Whether an item is given just what the one before it made for it alone."""
    inside = {v for node in item.nodes for v in node.outputs}
    given = {v for v in read_by(item.nodes) if v not in inside}
    made = {v for node in before.nodes for v in node.outputs}
    readers = Counter(v for v in read_by([*before.nodes, *item.nodes]) if v in made)
    left = [v for v in made if uses[v] > Counter(read_by(before.nodes))[v]]
    return len(given) == 1 and given <= made and left == list(given) and readers[left[0]] == uses[left[0]]


# ---- runs


def _best_run(items: list[Unit], scopes: Scopes, uses: Counter[Value]) -> tuple[list[int], int] | None:
    """Where the run begins each time that saves most to read, and how many items it has; None where none does."""
    places: dict[Hashable, list[int]] = {}
    lengths: dict[Hashable, int] = {}
    sizes = [0]
    for item in items:
        sizes.append(sizes[-1] + _statements(item))
    for start, marks in enumerate(marks_of(items, scopes, _LONGEST)):
        for length, mark in enumerate(marks, 1):
            if length > 1 and all(_may_join(items[i]) for i in (start, start + length - 1)):
                earlier = places.setdefault(mark, [])
                lengths[mark] = length
                if not earlier or earlier[-1] + length <= start:
                    earlier.append(start)

    def saved(mark: Hashable) -> int:
        start, length = places[mark][0], lengths[mark]
        return (sizes[start + length] - sizes[start] - 1) * (len(places[mark]) - 1) - _CLASS

    border = _Border(items, uses)
    ranked = sorted((m for m in places if len(places[m]) > 1 and saved(m) > 0), key=lambda m: (-saved(m), lengths[m]))
    for mark in ranked:
        starts, length = places[mark], lengths[mark]
        nodes = sum(len(item.nodes) for item in items[starts[0] : starts[0] + length])
        if nodes >= _MIN_RUN and all(border.is_narrow(s, s + length) for s in starts):
            return starts, length
    return None


def _may_join(item: Unit) -> bool:
    return isinstance(item, Group) or item.is_free


def _statements(item: Unit) -> int:
    """How much there is to read in an item."""
    return sum(_statements(inner) for inner in item.items[:1]) if isinstance(item, Group) and item.is_list else 1


@dataclass(slots=True)
class _Border:
    """What crosses the border of a run."""

    items: list[Unit]
    uses: Counter[Value]

    def is_narrow(self, start: int, stop: int) -> bool:
        """Whether few tensors go into the run and out of it, and all of it is free to be made a module."""
        run = self.items[start:stop]
        nodes = [node for item in run for node in item.nodes]
        reads = Counter(read_by(nodes))
        made = {v for node in nodes for v in node.outputs}
        out = [v for v in made if self.uses[v] > reads[v]]
        given = reads.keys() - made
        narrow = len(given) <= _MAX_GIVEN and 0 < len(out) <= _MAX_MADE
        return narrow and all(map(_may_join, run)) and _is_whole(run)


def _is_whole(run: Sequence[Unit]) -> bool:
    """Whether its items hang together, rather than be two things side by side."""
    parts: list[tuple[set[Unit], set[Value]]] = []
    for item in run:
        values = {v for node in item.nodes for v in node.outputs}
        read = set(read_by(item.nodes))
        near = [part for part in parts if part[1] & read]
        items = {item}.union(*(part[0] for part in near))
        parts = [part for part in parts if part not in near]
        parts.append((items, values.union(*(part[1] for part in near))))
    return len(parts) == 1


def _with_runs(items: list[Unit], starts: list[int], length: int) -> list[Unit]:
    """The items, each of the runs made one."""
    found: list[Unit] = []
    at = 0
    for start in starts:
        found += [*items[at:start], _group(run := items[start : start + length], _name(run))]
        at = start + length
    return found + items[at:]


def _name(run: list[Unit]) -> str:
    """What the run is for: a gate of all channels by their means, or a block as any other."""
    first, last = run[0].nodes[0].op.name, run[-1].nodes[-1].op.name
    return "se" if first in ("adaptive_avg_pool2d", "mean") and last == "mul" else "block"
