"""The evaluation form of a model held against its training form: what differs between them follows the mode.

Nodes are paired in order. An argument that differs becomes a `ByMode`. A run of nodes that only training has, and that
evaluation leaves out, is a `Region`, where it is a dropout or stochastic depth. Whatever else one form has of its own, up
to where they meet again, is a `Choice`. Outputs that only training gives are left out, with what leads to them alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from migrate.errors import Diagnostic, error
from migrate.frontends.pytorch.choices import Choice, Chosen, join, leads_to
from migrate.frontends.pytorch.nodes import (
    counts_batches,
    has_effect,
    is_higher_order,
    is_same,
    is_size,
    origin_of,
    short_name,
    written,
)
from migrate.frontends.pytorch.pairing import outputs_among, outputs_of, paired, steps
from migrate.frontends.pytorch.places import line_of, module_of
from migrate.frontends.pytorch.regions import Region, region_of
from migrate.frontends.pytorch.structure import output_paths
from migrate.graph import ByMode

if TYPE_CHECKING:
    from torch.fx import Node

MODE_ARGUMENTS = {"train", "training", "use_input_stats"}


@dataclass(slots=True, kw_only=True)
class Comparison:
    """Each evaluation node's arguments with what differs in training marked, and what could not be.

    `partner` is the evaluation's node of each training node that has one, `chosen` what those are that end a choice.
    `before` says what training changes beside its results, by the evaluation's node before which it does: a choice without
    ends, or the node of a count of batches. `own` are evaluation's nodes that are part of a choice, or of nothing.
    `outputs` are the training's for each of the evaluation's; it may have others as well, which are `left_out`, by place
    and name: `idle` are the modules that only lead to those.
    """

    arguments: dict[Any, tuple[Any, Any]] = field(default_factory=dict[Any, tuple[Any, Any]])
    problems: list[Diagnostic] = field(default_factory=list[Diagnostic])
    partner: dict[Any, Any] = field(default_factory=dict[Any, Any])
    chosen: dict[Any, Chosen] = field(default_factory=dict[Any, Chosen])
    before: dict[Any, list[Any]] = field(default_factory=dict[Any, list[Any]])
    own: set[Any] = field(default_factory=set[Any])
    outputs: tuple[int, ...] = ()
    left_out: dict[int, str] = field(default_factory=dict[int, str])
    idle: frozenset[str] = frozenset()


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


class _Comparer:
    def __init__(self, evaluation: Any, training: Any) -> None:
        self.evaluation, self.training = evaluation, training
        self.result = Comparison()
        self.pair = self.result.partner
        self.regions: dict[Any, Region] = {}
        self.choices: list[Choice] = []
        self.known: set[Any] = set()

    def run(self) -> Comparison:
        self._pair_inputs()
        ours, theirs = steps(self.evaluation.graph), steps(self.training.graph)
        self.pair.update((t, e) for e, t in paired(ours, theirs))
        partner = {e: t for t, e in self.pair.items()}
        self.known = set(partner)
        for node in self.evaluation.graph.nodes:
            if node.op == "output":
                self._outputs(node)
            elif node in partner and node.op == "call_function":
                self.result.arguments[node] = self._both(node, partner[node])
            elif node.op == "call_function":
                self.result.arguments[node] = (node.args, dict(node.kwargs))
        self.result.own = {n for n in ours if n not in partner}
        self._changes()
        return self.result

    def _pair_inputs(self) -> None:
        ours = {(n.op, n.target): n for n in self.evaluation.graph.nodes if n.op in ("placeholder", "get_attr")}
        for node in self.training.graph.nodes:
            own = ours.get((node.op, node.target))
            if own is not None and self._same_content(own, node):
                self.pair[node] = own

    def _same_content(self, ours: Any, theirs: Any) -> bool:
        """Whether what two nodes of one name stand for is the same: the same graph, or a constant of the same numbers."""
        import torch

        if ours.op == "get_attr":
            bodies = [getattr(getattr(n.graph.owning_module, n.target), "code", None) for n in (ours, theirs)]
            return bodies[0] == bodies[1]
        key = self.evaluation.graph_signature.inputs_to_lifted_tensor_constants.get(ours.name)
        if key is None:
            return True
        left, right = self.evaluation.constants[key], self.training.constants.get(key)
        return isinstance(right, torch.Tensor) and torch.equal(left, right)

    # ---- outputs

    def _outputs(self, node: Any) -> None:
        """Those of both forms; where training gives more, the ones that are made of what evaluation's are."""
        ours, theirs = outputs_of(self.evaluation), outputs_of(self.training)
        chosen = list(range(len(ours)))
        if len(ours) != len(theirs):
            chosen = outputs_among(self.evaluation, self.training, self.pair)
        if len(ours) > len(theirs) or len(set(chosen)) < len(ours):
            self._problem(node, "evaluation gives outputs that training does not give")
            return
        self.result.outputs = tuple(chosen)
        self.result.left_out = {k: ".".join(n) for k, n in enumerate(output_paths(self.training)) if k not in chosen}
        kept = tuple(theirs[k] for k in chosen)
        self._leave_out([theirs[k] for k in self.result.left_out], kept)
        self.result.arguments[node] = (self._merge(tuple(ours), kept, node),), {}

    def _leave_out(self, extra: list[Any], kept: tuple[Any, ...]) -> None:
        """Forget what leads to outputs of training alone, and note the modules that do nothing else."""
        import torch.fx

        kept_nodes = leads_to([n for n in kept if isinstance(n, torch.fx.Node)], set())
        modules = {module_of(n) for n in kept_nodes}
        gone = leads_to([n for n in extra if isinstance(n, torch.fx.Node)], set(kept_nodes))
        self.result.idle = frozenset({module_of(n) for n in gone} - modules)

    # ---- arguments

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
        origin, end = origin_of(ours), origin_of(theirs)
        if self.pair.get(end) is origin or (is_size(ours) and is_size(theirs)):
            return ours
        if is_size(ours) or is_size(theirs):
            self._problem(user, "it takes another size in training")
            return ours
        if end in self.regions:
            return self.regions[end]
        found = self._region(origin, end)
        if found is not None:
            self.regions[end] = found
            return found
        return self._chosen(origin, end)

    def _chosen(self, ours: Any, theirs: Any) -> Chosen:
        """The value at which both forms meet again, each in its own way."""
        made = self.result.chosen.get(theirs)
        if made is None or made.end[0] is not ours:
            inside = self._inside(theirs), leads_to([ours], self.known)
            choice = join(self.choices, Choice(training=inside[0], evaluation=inside[1], ends=[(ours, theirs)]))
            made = Chosen(choice=choice, end=(ours, theirs))
            self.result.chosen.setdefault(theirs, made)
        return made

    def _inside(self, end: Any) -> list[Any]:
        """What only training has on the way to a node, from where the forms last met."""
        return leads_to([end], {**self.pair, **self.result.chosen})

    def _region(self, ours: Any, end: Any) -> Region | None:
        """What leads from the value that evaluation uses to the one that training uses, if it is a dropout of any kind."""
        nodes = [n for n in leads_to([end], self.pair) if not is_same(n)]
        inside = [n for n in nodes if not is_size(n)]
        if not inside or ours not in self.known:
            return None
        border = {origin_of(a) for n in inside for a in n.all_input_nodes} - set(nodes)
        if {self.pair.get(n) for n in border if not is_size(n)} != {ours}:
            return None
        return region_of(ours, end, inside[::-1])

    # ---- what training changes

    def _changes(self) -> None:
        """What one form changes beside its results: in training, buffers and counts of batches."""
        chosen = {n for c in self.choices for n in (*c.training, *c.evaluation)}
        for node in sorted(self.result.own - chosen):
            if has_effect(node):
                self._problem(node, "it changes a tensor in evaluation only")
        explained = chosen | {n for end in self.regions for n in leads_to([end], self.pair)}
        places = self._places()
        found: dict[Any, Any] = {}
        for node in self.training.graph.nodes:
            if node in explained or node in self.pair or not self._changes_state(node):
                continue
            made = node if counts_batches(node) else join(self.choices, Choice(training=self._inside(node)))
            if counts_batches(node) or not made.ends:
                found[made] = places[node]
        for made, place in found.items():
            self.result.before.setdefault(place, []).append(made)

    def _places(self) -> dict[Any, Any]:
        """For each of training's nodes the evaluation's before which it stands."""
        (place,) = (n for n in self.evaluation.graph.nodes if n.op == "output")
        places: dict[Any, Any] = {}
        for node in reversed(self.training.graph.nodes):
            place = self.pair.get(node, place) if node.op == "call_function" else place
            places[node] = place
        return places

    def _changes_state(self, node: Any) -> bool:
        """Whether a node that only training has changes more than what only training has, in a module that is kept."""
        if node.op != "call_function" or not has_effect(node) or module_of(node) in self.result.idle:
            return False
        base = written(node)
        while base is not None and base.op == "call_function" and base not in self.pair:
            base = base.args[0] if base.args and hasattr(base.args[0], "op") else None
        return base is not None or is_higher_order(node)

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
