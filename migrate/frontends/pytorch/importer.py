"""From an exported program to the common graph, node by node. Knows the registry, not the operators."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from migrate.errors import Diagnostic, Exit, MigrateError, error
from migrate.frontends.pytorch.compare import (
    Comparison,
    Region,
    compare,
    counts_batches,
    following,
    is_higher_order,
    short_name,
)
from migrate.frontends.pytorch.mutation import Mutations
from migrate.frontends.pytorch.places import line_of, scope_of
from migrate.frontends.pytorch.program import Program
from migrate.frontends.pytorch.registry import Unsupported, find, find_higher_order
from migrate.frontends.pytorch.weights import add_state
from migrate.graph import Builder, ByMode, Dim, Graph, InferenceError, SizeError, Value
from migrate.graph.sizes import apply

HALF = {"float16": "float32", "bfloat16": "float32"}
_SKIPPED = ("_assert", "sym_constrain_range", "_set_grad_enabled", "_check")
_INLINED = ("wrap_with_set_grad_enabled", "wrap_with_autocast")
_ON_SIZES = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc}


@dataclass(slots=True)
class Importer:
    """One reading of a program at one assignment of its free sizes."""

    program: Program
    builder: Builder
    comparison: Comparison
    env: dict[Any, Any] = field(default_factory=dict[Any, Any])
    regions: dict[int, Value] = field(default_factory=dict[int, Value])
    mutations: Mutations = field(default_factory=Mutations)
    no_grad: bool = False

    def node(self, node: Any) -> None:
        """One call."""
        name = short_name(node)
        if name == "_set_grad_enabled":
            self.no_grad = not node.args[0]
        if name.startswith(_SKIPPED) or counts_batches(node):
            return
        with self.builder.at(scope_of(node), node.name):
            args, kwargs = self.comparison.arguments[node]
            given = self.value(args)
            named = {k: self.value(v) for k, v in kwargs.items() if k not in ("device", "pin_memory", "layout")}
            made = self.made(node, name, given, named)
            self.env[node] = self.without_gradient(made) if self.no_grad else made
            self.mutations.note(self, node, name, args)
        self.rename(node)

    def made(self, node: Any, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What a node computes: of sizes, a part of several results, or an operator's."""
        if node.target is operator.getitem:
            return given[0][given[1]]
        if is_higher_order(node):
            if name in _INLINED:
                return self.inlined(name, given)
            inner = [partial(self.subgraph, g) if hasattr(g, "graph") else g for g in given]
            return handler_of(node)(self.builder, *inner, **named)
        if not hasattr(node.target, "_schema"):
            return self.of_sizes(node, given)
        if name == "sym_size":
            return given[0].shape[given[1]]
        if name == "sym_numel":
            return math.prod(given[0].shape) if all(isinstance(s, int) for s in given[0].shape) else _count(given[0])
        handler = handler_of(node)
        if handler is None:
            raise Unsupported("the operator is not supported")
        return handler(self.builder, *given, **named)

    def inlined(self, name: str, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """A part of the model that runs with or without gradients, or autocast, read where it stands."""
        place = next(k for k, value in enumerate(given) if hasattr(value, "graph"))
        if name == "wrap_with_autocast" and given[2]:
            raise Unsupported("a part of the model switches autocast on", "choose the precision of the whole package")
        before = self.no_grad
        if name == "wrap_with_set_grad_enabled":
            self.no_grad = not given[0]
        operands = iter(given[place + 1 :])
        result: tuple[Any, ...] = ()
        for node in given[place].graph.nodes:
            if node.op == "placeholder":
                self.env[node] = next(operands)
            elif node.op == "output":
                result = self.value(node.args[0])
            else:
                self.comparison.arguments[node] = (node.args, dict(node.kwargs))
                self.node(node)
        self.no_grad = before
        return result

    def of_sizes(self, node: Any, given: tuple[Any, ...]) -> Any:
        """Arithmetic on sizes."""
        name = node.target.__name__
        if name in ("sym_max", "sym_min"):
            return apply(name.removeprefix("sym_"), *given)
        if name in ("sym_float", "sym_int"):
            return apply(name.removeprefix("sym_"), *given)
        if any(isinstance(g, Value) for g in given):
            raise Unsupported(f"{name} of a tensor")
        if name in _ON_SIZES and isinstance(given[0], Dim):
            return apply("int" if name == "trunc" else name, *given)
        return node.target(*given)

    def value(self, arg: Any) -> Any:
        """An argument of the program as the builder takes it."""
        import torch
        import torch.fx

        if isinstance(arg, torch.fx.Node):
            return self.mutations.current(self, arg)
        if isinstance(arg, Region):
            return self.region(arg)
        if isinstance(arg, tuple | list):
            return tuple(self.value(a) for a in arg)  # pyright: ignore[reportUnknownVariableType]
        if isinstance(arg, dict):
            return {k: self.value(v) for k, v in arg.items()}  # pyright: ignore[reportUnknownVariableType]
        if isinstance(arg, torch.dtype):
            return str(arg)
        return arg

    def subgraph(self, module: Any, *inputs: Any) -> tuple[Any, ...]:
        """What a graph that an operator takes gives for these inputs; its nodes are added here."""
        given = iter(inputs)
        for node in module.graph.nodes:
            if node.op == "placeholder":
                self.env[node] = next(given)
            elif node.op == "get_attr":
                self.env[node] = getattr(module, str(node.target))
            elif node.op == "call_function":
                self.comparison.arguments[node] = (following(node), dict(node.kwargs))
                self.node(node)
            elif node.op == "output":
                made = self.value(node.args[0])
                return made if isinstance(made, tuple) else (made,)  # pyright: ignore[reportUnknownVariableType]
        raise ValueError("a graph without an output")

    def region(self, region: Region) -> Value:
        """A dropout that only training has, made once and used wherever training uses it."""
        if id(region) not in self.regions:
            with self.builder.at(scope_of(region.node), region.node.name):
                self.regions[id(region)] = self.dropped(region)
        return self.regions[id(region)]

    def dropped(self, region: Region) -> Value:
        """The value of a region."""
        value = self.value(region.value)
        if region.op == "dropout":
            return self.builder.dropout(value, region.p)
        named = {} if region.each else {"each": False}
        named |= {} if region.scaled else {"scaled": False}
        return self.builder.drop_path(value, region.p, ByMode(True, False), **named)

    def without_gradient(self, made: Any) -> Any:
        """A result of what runs without gradients."""
        if isinstance(made, Value) and made.is_float and made.weight is None and made.static is None:
            return self.builder.detach(made)
        return made

    def rename(self, node: Any) -> None:
        """Give what a node computes the node's name."""
        made = self.env[node]
        if isinstance(made, Value) and made.node is not None and made.node.origin == (node.name,):
            self.builder.rename(made, node.name)

    def outputs(self, node: Any) -> None:
        """Make the results outputs, under their names; a package returns what it computes, never a weight or an input."""
        args, _ = self.comparison.arguments.get(node, (node.args, {}))
        graph = self.builder.graph
        for leaf, fact in zip(args[0], self.program.outputs, strict=True):
            if not fact.is_tensor:
                continue
            made = self.value(leaf)
            if not isinstance(made, Value):
                self.builder.note(_dropped(fact.name, "it is a size"))
                continue
            made = self.builder.tensor(made)
            if made.weight is not None or made in graph.inputs or made in graph.outputs:
                made = self.builder.clone(made)
            self.builder.rename(made, fact.name)
            graph.outputs.append(made)


def _count(value: Value) -> Any:
    total: Any = 1
    for size in value.shape:
        total = total * size
    return total


def _dropped(name: str, why: str) -> Diagnostic:
    return Diagnostic(code="MIG321", severity="note", what=f"output {name!r} is left out", why=why)


def handler_of(node: Any) -> Any:
    """The handler of a node's operator; one that works in place is read as the one that does not."""
    if is_higher_order(node):
        return find_higher_order(str(node.target))
    packet = str(node.target.overloadpacket)
    overload = node.target._overloadname or "default"
    found = find(packet, overload)
    base = packet.rstrip("_")
    if found is None and packet.endswith("_") and not packet.endswith("__"):
        try:
            found = find(base, overload)
        except AttributeError:  # there is no such overload out of place: the arguments are alike all the same
            found = find(base, "default")
    return found


def _all_nodes(module: Any) -> Iterator[Any]:
    """The nodes of an exported graph and of the graphs that its operators take."""
    for node in module.graph.nodes:
        if node.op == "get_attr" and hasattr(inner := getattr(module, str(node.target)), "graph"):
            yield from _all_nodes(inner)
        yield node


def unsupported(program: Program) -> list[Diagnostic]:
    """Every operator that nothing reads, with its first place and how often it occurs."""
    places: dict[str, list[Any]] = {}
    for node in _all_nodes(program.evaluation.graph_module):
        if node.op != "call_function" or short_name(node).startswith((*_SKIPPED, "sym_")):
            continue
        if not hasattr(node.target, "_schema"):
            if is_higher_order(node) and short_name(node) not in _INLINED and handler_of(node) is None:
                places.setdefault(str(node.target), []).append(node)
            continue
        if handler_of(node) is None:
            places.setdefault(str(node.target), []).append(node)
    return [
        error("MIG201", f"operator {name} is not supported", where=line_of(nodes[0]), why=f"{len(nodes)} of it")
        for name, nodes in places.items()
    ]


def attempt(program: Program, samples: dict[Any, tuple[int, int, int]], again: bool = False) -> Graph:
    """Import at sampled sizes, by the program's symbols.

    Raises:
        MigrateError: with the node at which it failed.
    """
    from migrate.frontends.pytorch.inputs import add_inputs

    builder = Builder("model")
    builder.declared_batch, builder.frees_repeats = program.declared_batch, again
    comparison = compare(program.evaluation, program.training)
    if comparison.problems:
        raise MigrateError(comparison.problems, Exit.UNSUPPORTED)
    importer = Importer(program, builder, comparison)
    current: Any = None
    try:
        add_state(importer)
        add_inputs(importer, samples)
        for current in program.evaluation.graph.nodes:
            if current.op == "call_function":
                importer.node(current)
            elif current.op == "get_attr":
                importer.env[current] = getattr(program.evaluation.graph_module, current.target)
            elif current.op == "output":
                importer.outputs(current)
    except InferenceError as fault:
        raise _failed("MIG304", "the shapes do not fit", current, str(fault)) from fault
    except SizeError as fault:
        raise _failed("MIG305", "the graph depends on the input's sizes", current, str(fault)) from fault
    except Unsupported as fault:
        raise _failed("MIG203", "cannot be expressed exactly", current, fault.reason, fault.todo) from fault
    return builder.graph


def _failed(code: str, what: str, node: Any, why: str, todo: str = "") -> MigrateError:
    operator_name = f"{short_name(node)}: " if node is not None and node.op == "call_function" else ""
    where = line_of(node) if node is not None else ""
    return MigrateError([error(code, f"{operator_name}{what}", where=where, why=why, todo=todo)], Exit.UNSUPPORTED)
