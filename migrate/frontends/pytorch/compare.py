"""The evaluation form of a model held against its training form: what differs between them follows the mode.

Nodes are paired in order. An argument that differs becomes a `ByMode`. A run of nodes that only training has, and that
evaluation leaves out, is a `Region`, read as stochastic depth where it is that. Anything else is a diagnostic.
"""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from migrate.errors import Diagnostic, error
from migrate.frontends.pytorch.places import line_of, module_of
from migrate.graph import ByMode

if TYPE_CHECKING:
    from torch.fx import Node

MODE_ARGUMENTS = {"train", "training", "use_input_stats"}
_SAME = ("contiguous", "clone", "alias")
_DRAWS = {"bernoulli", "bernoulli_", "rand", "rand_like"}
_OF_DROP_PATH = _DRAWS | {
    "new_empty", "empty", "div", "div_", "mul", "mul_", "add", "floor", "floor_", "new_ones", "ones", "to", "empty_like",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """What only training has: a dropout or stochastic depth, of which value, in which module, and how it is drawn."""

    value: Any
    node: Any
    op: str
    p: float
    each: bool = True
    scaled: bool = True


@dataclass(slots=True, kw_only=True)
class Comparison:
    """Each evaluation node's arguments with what differs in training marked, and what could not be."""

    arguments: dict[Any, tuple[Any, Any]] = field(default_factory=dict[Any, tuple[Any, Any]])
    problems: list[Diagnostic] = field(default_factory=list[Diagnostic])


def compare(evaluation: Any, training: Any | None) -> Comparison:
    """Compare the graphs of two exported programs; without a training form, what can follow the mode does."""
    if training is None:
        made = Comparison()
        for node in evaluation.graph.nodes:
            if node.op == "call_function":
                made.arguments[node] = (following(node), dict(node.kwargs))
        return made
    return _Comparer(evaluation, training).run()


def following(node: Node) -> tuple[Any, ...]:
    """The arguments with flags that say whether a layer trains replaced by ones that follow the mode."""
    schema = getattr(node.target, "_schema", None)
    names = [a.name for a in schema.arguments] if schema is not None else []
    return tuple(
        ByMode(True, False) if name in MODE_ARGUMENTS and arg is False else arg
        for arg, name in zip(node.args, [*names, *[""] * len(node.args)], strict=False)
    )


def short_name(node: Any) -> str:
    """`relu_` of `aten.relu_.default`."""
    packet = getattr(node.target, "overloadpacket", None)
    return str(packet).rpartition(".")[2] if packet is not None else getattr(node.target, "__name__", str(node.target))


def is_size(node: Any) -> bool:
    """Whether a node computes a size or checks one."""
    if node.op != "call_function":
        return False
    if short_name(node).startswith(("sym_", "_assert")):
        return True
    return not hasattr(node.target, "_schema") and node.target is not operator.getitem and not is_higher_order(node)


def is_higher_order(node: Any) -> bool:
    """Whether a node's operator takes graphs, as `cond` does."""
    import torch

    return isinstance(node.target, torch._ops.HigherOrderOperator)


def counts_batches(node: Any) -> bool:
    """Whether a node counts the batches that a normalisation has seen: its module does that by itself."""
    return short_name(node) == "add_" and "num_batches_tracked" in str(node.args[0])


def changes(node: Any) -> bool:
    """Whether a node works in place."""
    return short_name(node).endswith("_") and not short_name(node).endswith("__")


def _steps(graph: Any) -> list[Any]:
    skipped = (is_size, counts_batches, _is_same)
    return [n for n in graph.nodes if n.op == "call_function" and not any(test(n) for test in skipped)]


def _is_same(node: Any) -> bool:
    """Whether a node gives what it is given, in memory of its own at most."""
    return node.op == "call_function" and short_name(node) in _SAME


def _origin(node: Any) -> Any:
    """The node whose value a node passes on."""
    while _is_same(node):
        node = node.args[0]
    return node


def _token(node: Any) -> tuple[str, str]:
    return str(node.target), module_of(node)


class _Comparer:
    def __init__(self, evaluation: Any, training: Any) -> None:
        self.evaluation, self.training = evaluation, training
        self.result = Comparison()
        self.pair: dict[Any, Any] = {}
        self.regions: dict[Any, Region] = {}
        self.explained: set[Any] = set()

    def run(self) -> Comparison:
        self._inputs()
        ours, theirs = _steps(self.evaluation.graph), _steps(self.training.graph)
        self.pair.update((t, e) for e, t in _paired(ours, theirs))
        partner = {e: t for t, e in self.pair.items()}
        for node in self.evaluation.graph.nodes:
            if node.op == "output":
                (other,) = (n for n in self.training.graph.nodes if n.op == "output")
                if len(node.args[0]) != len(other.args[0]):
                    self._problem(node, "the number of outputs depends on the mode")
                else:
                    self.result.arguments[node] = self._both(node, other)
            elif node in partner:
                self.result.arguments[node] = self._both(node, partner[node])
            elif node.op == "call_function" and (is_size(node) or _is_same(node)):
                self.result.arguments[node] = (node.args, dict(node.kwargs))
            elif node.op == "call_function":
                self._problem(node, "it is computed in evaluation only")
                self.result.arguments[node] = (node.args, dict(node.kwargs))
        unpaired = [n for n in theirs if n not in self.pair and n not in self.explained and (n.users or changes(n))]
        for node in unpaired:
            if not self.result.problems:
                self._problem(node, "it is computed in training only")
        return self.result

    def _inputs(self) -> None:
        for name, body in self.evaluation.graph_module.named_children():
            other = getattr(self.training.graph_module, name, None)
            if getattr(other, "code", None) != getattr(body, "code", None):
                (node,) = (n for n in self.evaluation.graph.nodes if n.op == "get_attr" and n.target == name)
                self._problem(node, "what runs without gradients differs")
        ours = [n for n in self.evaluation.graph.nodes if n.op in ("placeholder", "get_attr")]
        theirs = {(n.op, n.target): n for n in self.training.graph.nodes if n.op in ("placeholder", "get_attr")}
        self.pair.update((theirs[n.op, n.target], n) for n in ours if (n.op, n.target) in theirs)

    def _both(self, ours: Any, theirs: Any) -> tuple[Any, Any]:
        if len(ours.args) != len(theirs.args) or ours.kwargs.keys() != theirs.kwargs.keys():
            args, kwargs = self._filled(ours, theirs)
            return tuple(args), kwargs
        args = tuple(self._merge(a, t, ours) for a, t in zip(ours.args, theirs.args, strict=True))
        return args, {k: self._merge(v, theirs.kwargs[k], ours) for k, v in ours.kwargs.items()}

    def _filled(self, ours: Any, theirs: Any) -> tuple[list[Any], dict[str, Any]]:
        """Arguments left out on one side are the schema's defaults."""
        schema = getattr(ours.target, "_schema", None)
        if schema is None:
            self._problem(ours, "it is called otherwise in training")
            return list(ours.args), dict(ours.kwargs)
        positional = [a for a in schema.arguments if not a.kwarg_only]
        count = max(len(ours.args), len(theirs.args))
        pairs: list[tuple[Any, Any]] = []
        for k, argument in enumerate(positional[:count]):
            own = ours.args[k] if k < len(ours.args) else argument.default_value
            other = theirs.args[k] if k < len(theirs.args) else argument.default_value
            pairs.append((own, other))
        defaults = {a.name: a.default_value for a in schema.arguments if a.kwarg_only}
        names = dict.fromkeys((*ours.kwargs, *theirs.kwargs))
        named = {n: (ours.kwargs.get(n, defaults.get(n)), theirs.kwargs.get(n, defaults.get(n))) for n in names}
        return [self._merge(a, t, ours) for a, t in pairs], {k: self._merge(*v, ours) for k, v in named.items()}

    def _merge(self, ours: Any, theirs: Any, user: Any) -> Any:
        import torch.fx

        if isinstance(ours, tuple | list) and isinstance(theirs, tuple | list) and len(ours) == len(theirs):  # pyright: ignore[reportUnknownArgumentType]
            return tuple(self._merge(a, t, user) for a, t in zip(ours, theirs, strict=True))  # pyright: ignore[reportUnknownArgumentType]
        if isinstance(theirs, torch.fx.Node) and isinstance(ours, torch.fx.Node):
            return self._merge_nodes(ours, theirs, user)
        if isinstance(theirs, torch.fx.Node) or isinstance(ours, torch.fx.Node):
            self._problem(user, "it takes other values in training")
            return ours
        if type(ours) is type(theirs) and (ours == theirs or (ours != ours and theirs != theirs)):
            return ours
        return ByMode(theirs, ours)

    def _merge_nodes(self, ours: Any, theirs: Any, user: Any) -> Any:
        origin, theirs = _origin(ours), _origin(theirs)
        if self.pair.get(theirs) is origin or (is_size(ours) and is_size(theirs)):
            return ours
        if theirs in self.pair:
            self._problem(user, "it takes another value in training")
            return ours
        if theirs not in self.regions:
            found = self._region(origin, theirs)
            if found is None:
                self._problem(theirs, "it is computed in training only, and is no dropout or stochastic depth")
                return ours
            self.regions[theirs] = found
        return self.regions[theirs]

    def _region(self, ours: Any, end: Any) -> Region | None:
        """What leads from the value that evaluation uses to the one that training uses, if it is a dropout of any kind."""
        inside: list[Any] = []
        stack = [end]
        border: set[Any] = set()
        while stack:
            node = stack.pop()
            if node in inside or (is_size(node) and node.op == "call_function"):
                continue
            node = _origin(node)
            if node in self.pair or node.op != "call_function":
                border.add(node)
                continue
            inside.append(node)
            stack += node.all_input_nodes
        if {self.pair.get(n) for n in border} != {ours}:
            return None
        self.explained.update(inside)
        if [short_name(n) for n in inside] == ["dropout"] and end.args[2] is True:
            return Region(value=ours, node=end, op="dropout", p=end.args[1])
        if any(short_name(n) not in _OF_DROP_PATH for n in inside) or (found := _drawn(inside)) is None:
            return None
        p, shape, scaled = found
        if any(isinstance(size, int) and size != 1 for size in shape[1:]) or len(shape) != ours.meta["val"].dim():
            return None
        each = not (isinstance(shape[0], int) and shape[0] == 1)
        return Region(value=ours, node=end, op="drop_path", p=p, each=each, scaled=scaled)

    def _problem(self, node: Any, why: str) -> None:
        self.result.problems.append(
            error(
                "MIG320",
                f"{short_name(node)} of {module_of(node) or 'the model'} depends on the mode",
                where=line_of(node),
                why=why,
                todo="use layers that follow the mode (Dropout, BatchNorm, stochastic depth), or export one form only",
            )
        )


def _drawn(inside: list[Any]) -> tuple[float, list[Any], bool] | None:
    """The probability of dropping, the shape of the mask, and whether what stays is scaled."""
    draws = [n for n in inside if short_name(n) in _DRAWS]
    divided = [n for n in inside if short_name(n) in ("div", "div_")]
    if len(draws) != 1:
        return None
    (draw,) = draws
    if short_name(draw) in ("bernoulli", "bernoulli_") and isinstance(_probability(draw), float):
        keep, made = _probability(draw), draw.args[0]
        shape = next((a for a in made.args if isinstance(a, tuple | list)), None)
    elif short_name(draw) == "rand":
        added = [n for n in inside if short_name(n) == "add" and draw in n.all_input_nodes]
        keeps = [a for n in added for a in n.args if isinstance(a, float)]
        keep, shape = (keeps[0], draw.args[0]) if keeps else (None, None)
    else:
        return None
    if keep is None or shape is None or any(n.args[1] != keep for n in divided):
        return None
    return round(1.0 - keep, 12), list(shape), bool(divided)


def _probability(draw: Any) -> Any:
    """That of a draw, where it is a number; an argument that is the schema's default is left out of an exported program."""
    names = {a.name: a.default_value for a in draw.target._schema.arguments}
    return draw.args[1] if len(draw.args) > 1 else names.get("p")


def _paired(ours: list[Any], theirs: list[Any]) -> Iterator[tuple[Any, Any]]:
    left, right = [_token(n) for n in ours], [_token(n) for n in theirs]
    if left == right:
        yield from zip(ours, theirs, strict=True)
        return
    for a, b, size in difflib.SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
        yield from zip(ours[a : a + size], theirs[b : b + size], strict=True)
