"""Chains of calls that only move elements become the shortest that do the same, as a person would have written them.

    %a = reshape(%x, (10, %n * 3, 12))      ->      %y = unflatten(%x, -1, (3, 12))
    %b = transpose(%a, 0, 1)                        %z = permute(%y, (1, 2, 0, 3))
    %z = reshape(%b, (%n, 3, 10, 12))

Cases, each only where there is less to read then (`layouts.cost`):

1. a chain of reshapes, transposes and their kin, whose inner values nothing else uses;
2. the same with a `linear` in it, which is moved to before or behind all of them: it sees the last axis alone;
3. every element of one axis taken by its number: an `unbind`, with what is done alike to all of them done before it.

A transpose and its inverse are a chain of no calls. Of a PyTorch source only what torch's own modules do is changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from migrate.graph.builder import Builder
from migrate.graph.graft import graft, names_in, sizes_of
from migrate.graph.ir import Block, Graph, Node, Value, replace_value
from migrate.graph.layouts import MOVES, Layout, Piece, Step, apart, cost, follow, layout_of, same_moves, steps
from migrate.graph.ops import get_op
from migrate.graph.parts import parts_of
from migrate.graph.passes import Pass
from migrate.graph.passes.remove_dead import remove_dead
from migrate.graph.uses import Uses


@dataclass(slots=True)
class _Rewriter:
    """The nodes of the graph or of a block by their places, and who uses their values.

    What takes the place (5,) stands at (5, 0), (5, 1), ...: so a rewrite moves no other node.
    """

    graph: Graph
    holder: Graph | Block
    names: set[str]
    uses: Uses
    place: dict[Node, tuple[int, ...]] = field(init=False)
    count: int = 0

    def __post_init__(self) -> None:
        self.place = {node: (number,) for number, node in enumerate(self.holder.nodes)}

    def run(self) -> int:
        """Rewrite, the larger first, and return how often."""
        for rewrite, found in ((self.around_linear, "linear"), (self.unbind, ""), (self.chain, "")):
            for node in self.ordered():
                if node in self.place and (not found or node.op.name == found) and self.is_ours(node):
                    rewrite(node)
        self.holder.nodes = self.ordered()
        return self.count

    def ordered(self) -> list[Node]:
        """The nodes, in execution order."""
        return sorted(self.place, key=self.place.__getitem__)

    def is_ours(self, node: Node) -> bool:
        """Whether nobody wrote it so: an exporter did, or a module of torch itself."""
        if not self.graph.classes and not self.graph.state:
            return True
        return self.graph.classes.get(node.scope, "").startswith("torch.nn.modules.")

    def is_inner(self, value: Value) -> bool:
        """Whether one node alone needs it."""
        outside = value in self.holder.outputs or value in self.graph.outputs
        return not outside and len(self.uses.of(value)) == 1

    # ---- chains

    def before(self, value: Value) -> list[Node]:
        """The moves that lead to a value, which is one of nothing else."""
        found: list[Node] = []
        node = value.node
        while node is not None and node.op.name in MOVES and node in self.place and self.is_ours(node):
            found.insert(0, node)
            value = node.args[0]
            if not self.is_inner(value):
                break
            node = value.node
        return found

    def behind(self, value: Value) -> list[Node]:
        """The moves that a value goes on through, up to the first that several nodes need."""
        found: list[Node] = []
        while self.is_inner(value):
            (node,) = self.uses.of(value)
            if (
                node.op.name not in MOVES
                or node not in self.place
                or node.args[0] is not value
                or not self.is_ours(node)
            ):
                break
            found.append(node)
            value = node.output
        return found

    def chain(self, node: Node) -> None:
        """Case 1, at the last node of a chain."""
        if node.op.name not in MOVES or self.behind(node.output):
            return
        nodes = self.before(node.output)
        layout = follow(layout_of(nodes[0].args[0].shape), nodes) if nodes else None
        if layout is not None and cost_of(found := steps(layout)) < length(nodes):
            self.replace(nodes, nodes[0].args[0], found, node.output)

    def around_linear(self, node: Node) -> None:
        """Case 2."""
        x, weight = node.args[0], node.args[1]
        if weight.rank != 2 or not self.is_inner(x):
            ahead: list[Node] = []
        else:
            ahead = self.before(x)
        behind = self.behind(node.output)
        if not behind or x.static is not None:
            return
        root: Value = ahead[0].args[0] if ahead else x
        given = follow(layout_of(root.shape), ahead)
        if given is None or root.weight is not None:
            return
        made = Piece(weight.shape[0])
        out = follow(Layout((*given.root, (made,)), (*given.axes[:-1], (made,))), behind)
        if out is not None:
            self.place_linear(node, root, (ahead, behind), (given, out))

    def place_linear(
        self, node: Node, root: Value, chains: tuple[list[Node], list[Node]], layouts: tuple[Layout, Layout]
    ) -> None:
        """Put a linear layer where the moves around it are the fewest."""
        given, out = layouts
        ahead, behind = chains
        made = set(out.root[-1])
        choices: list[tuple[int, list[Step], list[Step]]] = []
        if given.axes[-1] == given.root[-1] and len(given.root[-1]) == 1:
            found = steps(Layout((*out.root[: len(given.root) - 1], out.root[-1]), out.axes))
            choices.append((cost_of(found), [], found))
        if set(out.axes[-1]) == made and not any(set(axis) & made for axis in out.axes[:-1]):
            found = steps(Layout(out.root[:-1], (*out.axes[:-1], given.axes[-1])))
            choices.append((cost_of(found), found, []))
        best = min(choices, key=lambda choice: choice[0], default=None)
        if best is None or best[0] >= length(ahead) + length(behind):
            return
        self.rebuild_linear(node, root, best[1:], ahead + behind, behind[-1].output)

    def rebuild_linear(
        self, node: Node, root: Value, around: tuple[list[Step], list[Step]], old: list[Node], result: Value
    ) -> None:
        """The layer and the moves around it, made anew; the result keeps its value."""
        builder = self.builder_for(old)
        x = run_steps(builder, root, around[0])
        builder.scope, builder.origin = node.scope, node.origin
        x = builder.call(node.op, (x, *node.args[1:]), node.kwargs)
        builder.scope, builder.origin = old[-1].scope, _origins(old)
        run_steps(builder, x, around[1])
        self.splice(builder, [*old, node], root, (result,))

    # ---- unbinding

    def unbind(self, node: Node) -> None:
        """Case 3, at the node whose output is taken apart."""
        if len(node.outputs) != 1:
            return
        whole = node.output
        taken = parts_of(whole, self.uses.tensors)
        if taken is None or whole in self.graph.outputs or whole in self.holder.outputs:
            return
        axis, parts, gone = taken
        if any(n not in self.place or not self.is_ours(n) for n in gone):
            return
        tails = [self.behind(part) for part in parts]
        alike = all(same_moves(tail, tails[0]) for tail in tails)
        chain = self.before(whole) if alike and self.is_ours(node) else []
        root = chain[0].args[0] if chain else whole
        layout = follow(layout_of(root.shape), chain)
        found = apart(layout, axis, tails[0]) if layout is not None and alike else None
        if found is None:
            chain, root, found, tails = [], whole, [("unbind", (axis,))], [[] for _ in parts]
        results = tuple(tail[-1].output if tail else part for tail, part in zip(tails, parts, strict=True))
        builder = self.builder_for([*chain, *gone])
        run_steps(builder, root, found)
        self.splice(builder, [*chain, *gone, *(n for tail in tails for n in tail)], root, results)

    # ---- changing the graph

    def builder_for(self, old: list[Node]) -> Builder:
        """A builder whose nodes are made in the place of the old ones."""
        builder = Builder()
        builder.scope, builder.origin = old[-1].scope, _origins(old)
        return builder

    def replace(self, old: list[Node], root: Value, found: list[Step], result: Value) -> None:
        """Let the steps make what the old nodes made."""
        if not found:
            self.drop(old[-1], root)
            return
        builder = self.builder_for(old)
        run_steps(builder, root, found)
        self.splice(builder, old, root, (result,))

    def splice(self, builder: Builder, old: list[Node], root: Value, results: tuple[Value, ...]) -> None:
        """Put the builder's nodes where the first of the old results was made; the results keep their values."""
        *inner, last = builder.graph.nodes
        fits = [(v.shape, v.dtype) for v in last.outputs] == [(v.shape, v.dtype) for v in results]
        if not fits:
            return
        for node in inner:
            graft(node, self.names, sizes_of([root, *results]))
        makers = {v.node: None for v in results if v.node is not None}
        first = min(self.place[node] for node in makers)
        for value in results:
            value.node = last
        last.outputs = results
        for number, node in enumerate((*inner, last)):
            self.place[node] = (*first, number)
            self.uses.add(node)
        self.leave(makers)

    def drop(self, node: Node, root: Value) -> None:
        """Let the root stand for a node's result, unless that is an output."""
        result = node.output
        if result in self.graph.outputs or result in self.holder.outputs:
            return
        users = self.uses.of(result)
        self.uses.move(result, root)
        replace_value(users, result, root)
        self.leave([node])

    def leave(self, nodes: Iterable[Node]) -> None:
        """Count, and take nodes out, and what nothing needs any more."""
        self.count += 1
        left = list(nodes)
        while left:
            node = left.pop()
            if self.place.pop(node, None) is None:
                continue
            self.uses.remove(node)
            makers = {value.node for value in node.inputs if value.node is not None}
            left += [maker for maker in makers if not maker.has_effect and not maker.blocks and self.is_unused(maker)]

    def is_unused(self, node: Node) -> bool:
        """Whether nothing needs what a node makes."""
        return not any(self.uses.any_of(v) or v in self.holder.outputs or v in self.graph.outputs for v in node.outputs)


def run_steps(builder: Builder, value: Value, found: list[Step]) -> Value:
    """Make the steps' calls; returns the last result."""
    for name, args in found:
        value = builder.call(get_op(name), (value, *args), {})
    return value


def _origins(nodes: list[Node]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for node in nodes for name in node.origin))


def length(nodes: list[Node]) -> int:
    """How much there is to read in nodes."""
    return cost(node.op.name for node in nodes)


def cost_of(found: list[Step]) -> int:
    """The same for steps."""
    return cost(name for name, _ in found)


def join_moves(graph: Graph) -> int:
    """Rewrite in the graph and in each block; returns how many chains."""
    names, uses = names_in(graph), Uses(graph)
    blocks = [block for node in graph.all_nodes for block in node.blocks]
    count = sum(_Rewriter(graph, holder, names, uses).run() for holder in (*blocks, graph))
    remove_dead(graph)
    return count


JOIN_MOVES = Pass(name="join_moves", run=join_moves, requires=("ties",))
