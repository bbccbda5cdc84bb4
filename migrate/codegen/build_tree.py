"""From scopes to the module tree: groups nodes by module, orders the groups, and cuts what has no scopes by position.

A scope entered twice with the same tensors is called twice; one whose parts cannot be brought together without breaking the
order of computation becomes a container whose members are called from outside. Knows no text.
"""

from __future__ import annotations

from migrate.codegen.cut import MAX_CALLS, cut, live_values, longest_part
from migrate.codegen.groups import FOUND, find_groups
from migrate.codegen.homes import homes_of
from migrate.codegen.isomorphism import matching, repeats
from migrate.codegen.scopes import Path, Scopes, live_nodes
from migrate.codegen.tree import Block, BlockCall, ControlCall, FunctionCall, Item, LayerCall, Place
from migrate.codegen.units import Unit, in_order, marks_of, read_by
from migrate.graph import ir
from migrate.graph.ir import Node, Value, tensors_in

_BLOCK_NAMES = {"if_": ("on_true", "on_false"), "loop": ("body",)}
MODULE_DICT = "torch.nn.modules.container.ModuleDict"
_LISTS = ("stages", "blocks", "layers", "parts")


class TreeBuilder:
    """Builds the tree of one graph."""

    def __init__(self, scopes: Scopes, hoisted: set[Node], root: Place | None = None) -> None:
        self.scopes, self.hoisted = scopes, hoisted
        self.borrows = root is not None
        self.root = root or Place("", origin=scopes.places.get((), ""), version=scopes.versions.get((), 1))
        self.containers: set[Path] = scopes.lists | scopes.holders
        self.blocks: dict[Path, Block] = {}
        self._members: dict[tuple[int, object], Place] = {}

    def build(self, nodes: list[Node], state: list[Value]) -> Block:
        """The block of the whole model; `state` is what the source's own modules hold, used or not."""
        block = self._block(nodes, (), self.root, 0)
        for value in state:
            for path, attr in homes_of(value):
                if not self._is_inside_layer(path, attr):
                    self._hold(value, self.place(path), attr)
        return block

    def _hold(self, value: Value, place: Place, attr: str) -> None:
        """Let a module of the source hold a tensor, unless its layer does."""
        if place.layer is None:
            place.loose[attr] = value
        elif attr not in place.layer.tensors:
            place.made[attr] = value

    def _is_inside_layer(self, path: Path, attr: str) -> bool:
        """Whether a layer holds it in a module of its own."""
        found = self.root
        for depth, segment in enumerate(path[:-1], 1):
            child = found.children.get(segment)
            if child is None:
                return False
            if child.layer is not None and ".".join((*path[depth:], attr)) in child.layer.tensors:
                return True
            found = child
        return False

    def place(self, path: Path) -> Place:
        """The module at a path, made with all above it."""
        found = self.root
        for length, segment in enumerate(path, 1):
            found = found.child(segment)
            found.is_list = found.is_list or path[:length] in self.scopes.lists
            found.cls, found.origin, found.version = self.scopes.facts_of(path[:length])
            found.is_dict = found.cls == MODULE_DICT and not found.is_list
        return found

    # ---- one block

    def _block(self, nodes: list[Node], path: Path, place: Place, depth: int) -> Block:
        block = Block(place, nodes, borrows=self.borrows)
        place.block = block
        units = self._ordered_units(nodes, path)
        found = len(units) > MAX_CALLS and not self.scopes.classes  # a source's own modules are as its author cut them
        if found and not depth:
            units = self._grouped(units, nodes, path)
        if found and sum(len(run) for _, run in self._runs(units, path)) > MAX_CALLS:
            block.items = self._cut_items(units, path, place, depth)
        else:
            block.items = [self._item(unit, place, depth) for unit in units]
        return block

    def _items(self, units: list[Unit], path: Path, owner: Place, depth: int) -> list[Item]:
        """The items of units of which some may be lists."""
        nodes = [node for unit in units for node in unit.nodes]
        return [self._item(unit, owner, depth) for unit in self._ordered_units(nodes, path)]

    def _item(self, unit: Unit, owner: Place, depth: int) -> Item:
        if unit.is_call:
            assert unit.path is not None
            return self._call(unit.nodes, unit.path, depth)
        (node,) = unit.nodes
        if node.blocks:
            owner.nodes.append(node)
            return ControlCall(node, tuple(self._control(block, node, owner) for block in node.blocks))
        layer = self.scopes.layer.get(node)
        if layer is None:
            owner.nodes.append(node)
            return FunctionCall(node)
        path = self.scopes.home.get(node, unit.path)
        place = self.place(path) if path is not None else self._member(node, owner)
        place.layer = layer
        place.nodes.append(node)
        return LayerCall(node, layer, place)

    def _control(self, block: ir.Block, node: Node, owner: Place) -> BlockCall | None:
        """The call of the module that a block of control flow is."""
        scopes = self.scopes.inner[block]
        nodes = live_nodes(scopes)
        if not nodes:
            return None
        role = scopes.name or _BLOCK_NAMES[node.op.name][node.blocks.index(block)]
        place = owner.child(f"{role}\0{len(owner.children)}")
        made = TreeBuilder(scopes, set(), place).build(nodes, [])
        made.results = list(dict.fromkeys(v for v in block.outputs if not _stays(node, block, v)))
        return BlockCall(made, nodes)

    def _member(self, node: Node, owner: Place) -> Place:
        """The place of a layer that has no scope of its own: one per set of tensors."""
        layer = self.scopes.layer[node]
        key = (id(owner), layer.key if layer.tensors else id(node))
        if key not in self._members:
            scope = self.scopes.of[node]
            # a node that sits right in a container's scope is a member of that container
            holder = self.place(scope) if scope in self.containers and scope not in self.scopes.lists else owner
            self._members[key] = holder.child(f"{layer.role}\0{len(holder.children)}")
        return self._members[key]

    def _call(self, nodes: list[Node], path: Path, depth: int) -> BlockCall:
        first = self.blocks.get(path)
        if first is None:
            self.blocks[path] = block = self._block(nodes, path, self.place(path), depth)
            return BlockCall(block, nodes)
        renamed = matching(first.nodes, nodes)
        assert renamed is not None
        return BlockCall(first, nodes, renamed)

    # ---- units

    def _ordered_units(self, nodes: list[Node], path: Path) -> list[Unit]:
        while True:
            units = self._units(nodes, path)
            order, stuck = in_order(units)
            if not stuck:
                return order
            self.containers |= {unit.path for unit in stuck if unit.is_call and unit.path is not None}

    def _key(self, node: Node, path: Path) -> Path | None:
        """The member of `path` that a node belongs to; None where it belongs to the module itself."""
        scope = self.scopes.of[node]
        for length in range(len(path) + 1, len(scope) + 1):
            if scope[:length] not in self.containers:
                return scope[:length]
        return None

    def _units(self, nodes: list[Node], path: Path) -> list[Unit]:
        units: list[Unit] = []
        visits: dict[Path, list[list[Node]]] = {}
        last: Path | None = None
        for node in nodes:
            key = self._key(node, path)
            if key is None or key in self.scopes.layers:
                units.append(Unit([node], key, False))
            elif key == last:
                visits[key][-1].append(node)
            else:
                visits.setdefault(key, []).append([node])
            last = key
        for key, parts in visits.items():
            calls = _calls(parts)
            if any(matching(calls[0], call) is None for call in calls[1:]):
                self.containers.add(key)
                return self._units(nodes, path)
            units += [Unit(call, key, True) for call in calls]
        index = {node: i for i, node in enumerate(nodes)}
        return sorted(units, key=lambda u: index[u.nodes[0]])

    # ---- cutting by position

    def _grouped(self, units: list[Unit], nodes: list[Node], path: Path) -> list[Unit]:
        """The units, what comes again and again in them made modules."""
        for node, inner in find_groups(units, self.scopes).items():
            self.scopes.of[node] = (*path, *inner)
            self.scopes.lists |= {(*path, *inner[:k]) for k, name in enumerate(inner) if name.isdigit()}
        self.containers |= self.scopes.lists
        return self._ordered_units(nodes, path)

    def _cut_items(self, units: list[Unit], path: Path, place: Place, depth: int) -> list[Item]:
        name = _LISTS[min(depth, len(_LISTS) - 1)]
        while name in place.children:
            name += "_"
        items: list[Item] = []
        runs = self._runs(units, path)
        whole = depth == 0 and sum(len(run) > MAX_CALLS // 2 for _, run in runs) == 1 and runs[0][0]
        number = 0
        for is_direct, run in runs:
            if not is_direct or len(run) <= MAX_CALLS // 2:
                items += self._items(run, path, place, depth)
                continue
            parts = cut(_live(run, units), marks_of(run, self.scopes, longest_part(len(run))))
            for k, (start, stop) in enumerate(parts):
                if whole and len(parts) > 2 and k in (0, len(parts) - 1):
                    inner = (*path, "head" if k else "stem")
                else:
                    inner = (*path, name, str(number))
                    self.scopes.lists.add(inner[:-1])
                    number += 1
                items.append(self._part(run[start:stop], inner, path, depth))
        return items

    def _runs(self, units: list[Unit], path: Path) -> list[tuple[bool, list[Unit]]]:
        """Runs of units that no module of the source has, and runs of the others; a list that was found is one unit."""
        runs: list[tuple[bool, list[Unit]]] = []
        for unit in units:
            segment = unit.path[len(path)] if unit.is_call and unit.path else ""
            direct = FOUND in segment or (unit.is_free and unit.nodes[0] not in self.hoisted)
            last = runs[-1][1][-1] if runs and runs[-1][0] == direct else None
            if last is not None and FOUND in segment and last.path and last.path[: len(path) + 1] == (*path, segment):
                runs[-1][1][-1] = Unit([*last.nodes, *unit.nodes], (*path, segment), True)
            elif last is not None:
                runs[-1][1].append(unit)
            else:
                runs.append((direct, [unit]))
        return runs

    def _part(self, units: list[Unit], path: Path, outer: Path, depth: int) -> BlockCall:
        nodes = [node for unit in units for node in unit.nodes]
        for node in nodes:
            self._move(node, outer, path)
        self.blocks[path] = block = self._block(nodes, path, self.place(path), depth + 1)
        return BlockCall(block, nodes)

    def _move(self, node: Node, outer: Path, path: Path) -> None:
        """Put a node, and the modules found around it, from one module into another."""
        inner = self.scopes.of[node][len(outer) :]
        self.scopes.of[node] = (*path, *inner)
        found = {(*path, *inner[:k]) for k, name in enumerate(inner) if name.isdigit()}
        self.scopes.lists |= found
        self.containers |= found


def _live(run: list[Unit], units: list[Unit]) -> list[int]:
    makes = [{id(v) for node in unit.nodes for v in node.outputs} for unit in run]
    uses = [{id(v) for v in read_by(unit.nodes)} for unit in run]
    inside = {id(unit) for unit in run}
    made = set[int]().union(*makes)
    kept = {id(v) for unit in units if id(unit) not in inside for v in read_by(unit.nodes)} & made
    return live_values(makes, uses, kept)


def _calls(visits: list[list[Node]]) -> list[list[Node]]:
    """The calls that visits of one scope make up: a tensor that comes again begins a new call."""
    calls: list[list[Node]] = []
    seen: set[int] = set()
    for visit in visits:
        weights = {id(v) for n in visit for v in tensors_in((n.args, n.kwargs)) if v.weight is not None}
        if calls and not weights & seen:
            calls[-1] += visit
            seen |= weights
        else:
            calls.append(list(visit))
            seen = weights
    return [part for call in calls for part in repeats(call)]


def _stays(holder: Node, block: ir.Block, value: Value) -> bool:
    """Whether it is a carried value of a loop that the body gives as it was given it, and gives nowhere else."""
    if value not in block.inputs or block.outputs.count(value) > 1:
        return False
    place = block.outputs.index(value) - (len(block.outputs) - len(holder.outputs))  # a condition comes first
    return place == block.inputs.index(value) - 1 and place < len(holder.args[2])
