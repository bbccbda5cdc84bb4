"""Runs the fusions: where a pattern fits and its check has nothing against it, one op takes the place of the nodes.

    %s = sigmoid(%x)       ->      %y = silu(%x)
    %y = mul(%x, %s)

One walk in execution order, so that what was fused is matched as part of something larger further down. At a node the
pattern that says most goes first. Cases in which a fitting pattern is left alone:

1. an inner value is used elsewhere as well, or is an output: it would be computed twice;
2. the fusion's check says no;
3. the fused op would have another shape or dtype;
4. some of it is computed around the block that the rest is in.

A PyTorch source is left as its author wrote it. The result keeps its value, so its users need no change. The new node's
scope is what the scopes of the nodes have in common, its origin all of theirs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from migrate.errors import Diagnostic
from migrate.graph.builder import Builder
from migrate.graph.fusions import Fusion, Match, all_fusions, by_root
from migrate.graph.graft import graft, names_in, sizes_of
from migrate.graph.infer import InferenceError
from migrate.graph.ir import Block, Graph, Node, Value
from migrate.graph.passes import Pass, default_passes, run_passes
from migrate.graph.pattern import Bound, Pattern, matches
from migrate.graph.sizes import Dim


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """A pattern that fitted at a node and was left alone."""

    fusion: str
    node: Node
    why: str

    def __str__(self) -> str:
        place = ", ".join(self.node.origin) or f"%{self.node.outputs[0].name}"
        return f"{self.fusion} at {place}: {self.why}"


@dataclass(slots=True)
class _Walk:
    """The nodes of the graph or of a block so far, and who uses their values; names and weights are the whole graph's."""

    holder: Graph | Block
    inferred: bool
    misses: list[NearMiss]
    names: set[str]
    weight_users: dict[Value, list[Node]]
    nodes: dict[Node, int] = field(default_factory=dict[Node, int])
    here: set[Node] = field(default_factory=set[Node])
    users: dict[Value, dict[Node, None]] = field(default_factory=dict[Value, dict[Node, None]])
    gone: set[Node] = field(default_factory=set[Node])
    builder: Builder = field(default_factory=Builder)
    fired: dict[str, list[Node]] = field(default_factory=dict[str, list[Node]])

    def run(self) -> None:
        """Fuse in the holder."""
        for node in self.holder.nodes:
            self.uses(node)
        for node in self.holder.nodes:
            self.visit(node)
        self.holder.nodes = [node for node in self.nodes if node not in self.gone]

    def uses(self, node: Node) -> None:
        self.here.add(node)
        for value in node.inputs:
            self.users.setdefault(value, {})[node] = None

    def release(self, node: Node | None) -> None:
        """Drop a node whose results nobody needs, and what was computed for it alone."""
        if node is None or node not in self.here or node in self.gone:
            return
        if any(self.users.get(v) or v in self.holder.outputs for v in node.outputs):
            return
        self.gone.add(node)
        for value in node.inputs:
            self.users.get(value, {}).pop(node, None)
            self.release(value.node)

    def visit(self, node: Node) -> None:
        """Fuse what ends in this node, and again what that ends in."""
        while (fused := self.try_all(node)) is not None:
            node = fused
        self.append(node)

    def append(self, node: Node) -> None:
        self.nodes[node] = len(self.nodes)

    def try_all(self, node: Node) -> Node | None:
        """The node that takes this one's place; what was left alone on the way there is a near miss, once a fusion."""
        missed: dict[str, NearMiss] = {}
        fused = None
        for pattern, each in by_root().get(node.op.name, ()):
            if each.inferred and not self.inferred:
                continue
            fused = self.attempt(pattern, each, node, missed)
            if fused is not None:
                missed.pop(each.name, None)
                break
        self.misses += missed.values()
        return fused

    def attempt(self, pattern: Pattern, each: Fusion, node: Node, missed: dict[str, NearMiss]) -> Node | None:
        """The node of the fused op; None where the pattern does not fit, or, with a near miss, has to be left alone."""
        first: str | None = None
        for bound in matches(pattern, node.output, Bound()) if len(node.outputs) == 1 else ():
            match = Match(bound=bound, root=node, users=lambda value: len(self.weight_users.get(value, ())))
            why = self.shared(bound, node) or (each.check(match) if each.check else None)
            if why is None:
                made = self.build(each, match)
                if isinstance(made, Node):
                    return made
                why = made
            first = first or why
        if first is not None:
            missed.setdefault(each.name, NearMiss(fusion=each.name, node=node, why=first))
        return None

    def shared(self, bound: Bound, root: Node) -> str | None:
        """Which inner value is needed elsewhere."""
        inner = set(bound.nodes)
        for node in inner - {root}:
            value = node.output
            if node not in self.here:
                return f"%{value.name}, computed on the way, is computed around the block"
            if value in self.holder.outputs:
                return f"%{value.name}, computed on the way, is an output"
            other = next((user for user in self.users.get(value, ()) if user not in inner), None)
            if other is not None:
                return f"%{value.name}, computed on the way, is used by `{other.op.name}` too"
        return None

    def build(self, each: Fusion, match: Match) -> Node | str:
        """Build the op in a graph of its own, and let its result be the value that the old nodes computed."""
        inner = sorted(match.bound.nodes, key=lambda n: self.nodes.get(n, len(self.nodes)))
        builder = self.builder
        builder.graph.nodes.clear()
        builder.scope = _common([n.scope for n in inner])
        builder.origin = tuple(dict.fromkeys(name for n in inner for name in n.origin))
        try:
            made = each.rewrite(builder, match)
        except InferenceError as fault:
            return f"the fused op refuses this: {fault}"
        old = match.output
        if (made.shape, made.dtype) != (old.shape, old.dtype):
            return f"the fused op gives {made.dtype}{list(made.shape)} instead of {old.dtype}{list(old.shape)}"
        new = [*builder.graph.nodes]
        last = new.pop()
        assert last.outputs == (made,)
        last.outputs = (old,)
        taken = [what for what in match.bound.names.values() if isinstance(what, Value)]
        sizes = sizes_of(taken)
        for node in new:
            self.adopt(node, sizes)
        self.uses(last)
        old.node = last
        self.gone.add(match.root)
        for value in match.root.inputs:
            self.users.get(value, {}).pop(match.root, None)
        for value in match.root.inputs:
            self.release(value.node)
        self.fired.setdefault(each.name, []).append(last)
        return last

    def adopt(self, node: Node, sizes: dict[Dim, Dim]) -> None:
        """Take a node of the builder's graph into this one: a free name, and sizes as they are written here."""
        graft(node, self.names, sizes)
        self.uses(node)
        self.append(node)


def _common(scopes: list[tuple[str, ...]]) -> tuple[str, ...]:
    """What all scopes begin with."""
    length = 0
    while all(len(scope) > length and scope[length] == scopes[0][length] for scope in scopes):
        length += 1
    return scopes[0][:length]


def fuse(graph: Graph, *, inferred: bool = False, misses: list[NearMiss] | None = None) -> int:
    """Fuse in place and return how often.

    Args:
        graph: What is changed. What was fused is noted in it.
        inferred: Also run the fusions that guess at what the author meant.
        misses: Gathers the places where a pattern fitted and was left alone.
    """
    found = [] if misses is None else misses
    weights = graph.weights()
    names = names_in(graph)
    blocks = [block for node in graph.all_nodes for block in node.blocks]
    users = graph.users()
    fired: dict[str, list[Node]] = {}
    for holder in (*blocks, graph):
        walk = _Walk(holder, inferred, found, names, {value: users.get(value, []) for value in weights})
        walk.run()
        for name, nodes in walk.fired.items():
            fired.setdefault(name, []).extend(node for node in nodes if node not in walk.gone)
    graph.notes += [_note(name, nodes) for name, nodes in sorted(fired.items()) if nodes]
    return sum(map(len, fired.values()))


def _note(name: str, nodes: list[Node]) -> Diagnostic:
    titles = Counter(node.op.name for node in nodes)
    where = ", ".join(node.origin[-1] for node in nodes if node.origin)
    if any(each.inferred for each in all_fusions() if each.name == name):
        return Diagnostic(
            code="MIG319",
            severity="warning",
            what=f"{name}: {len(nodes)} times, a scale and a shift after a convolution were taken for one",
            where=where,
            why="this was asked for and is a guess: the file has no running statistics, so they begin at 0 and 1, "
            "and train.toml has train.freeze_statistics = true until they are those of your data",
        )
    made = ", ".join(f"`{op}`" for op in titles)
    return Diagnostic(
        code="MIG315",
        severity="note",
        what=f"{name}: {len(nodes)} times, operators that compute it piece by piece became {made}",
        where=where,
        why="exporters write it in pieces; the one call means the same, reads better and keeps less for the backward pass",
    )


def near_misses(graph: Graph, name: str) -> list[NearMiss]:
    """Run the passes up to this one, fuse, and return where the fusion of that name fitted and was left alone.

    Raises:
        KeyError: there is no such fusion; the message lists those that there are.
    """
    names = dict.fromkeys(each.name for each in all_fusions())
    if name not in names:
        raise KeyError(f"there are {', '.join(names)}")
    passes = default_passes()
    run_passes(graph, passes[: passes.index(FUSE)])
    misses: list[NearMiss] = []
    fuse(graph, inferred=True, misses=misses)
    return [miss for miss in misses if miss.fusion == name]


def is_written(graph: Graph) -> bool:
    """Whether the source tells its own modules, so that what is in pieces was written so by its author."""
    return bool(graph.classes or graph.state)


def fuse_exported(graph: Graph) -> int:
    """Fuse what an exporter took apart; what an author wrote in PyTorch stays as written, and equal to it bit by bit."""
    return 0 if is_written(graph) else fuse(graph)


def fuse_and_guess(graph: Graph) -> int:
    """The same, and what needs a guess at what the author meant."""
    return 0 if is_written(graph) else fuse(graph, inferred=True)


FUSE = Pass(name="fuse", run=fuse_exported, requires=("ties",))
FUSE_INFERRED = Pass(name="fuse", run=fuse_and_guess, requires=("ties",))
