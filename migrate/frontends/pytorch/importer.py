"""From an exported program to the common graph, node by node. Knows the registry, not the operators."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

from migrate.errors import Exit, MigrateError
from migrate.frontends.pytorch import branches
from migrate.frontends.pytorch.choices import Choice, Chosen
from migrate.frontends.pytorch.compare import Comparison, compare, following
from migrate.frontends.pytorch.handlers import INLINED, SKIPPED, handler_of
from migrate.frontends.pytorch.mutation import Mutations, memory_of, read_before
from migrate.frontends.pytorch.nodes import counter_of, is_higher_order, is_same, is_size, short_name
from migrate.frontends.pytorch.notes import failed, no_tensor, only_in_training
from migrate.frontends.pytorch.places import scope_of
from migrate.frontends.pytorch.program import Program
from migrate.frontends.pytorch.regions import Region
from migrate.frontends.pytorch.registry import Unsupported
from migrate.frontends.pytorch.weights import add_state, constant
from migrate.graph import Builder, ByMode, Dim, Graph, InferenceError, SizeError, Value
from migrate.graph.sizes import apply

HALF = {"float16": "float32", "bfloat16": "float32"}
_PLACEMENT = ("device", "pin_memory", "layout", "out")
_ON_SIZES = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc}


@dataclass(slots=True)
class Importer:
    """One reading of a program at one assignment of its free sizes."""

    program: Program
    builder: Builder
    comparison: Comparison
    env: dict[Any, Any] = field(default_factory=dict[Any, Any])
    regions: dict[int, Value] = field(default_factory=dict[int, Value])
    chosen: dict[Choice, tuple[Value, ...]] = field(default_factory=dict[Choice, tuple[Value, ...]])
    mutations: Mutations = field(default_factory=Mutations)
    no_grad: bool = False
    place: Any = None
    cut_off: set[Value] = field(default_factory=set[Value])

    def call(self, node: Any) -> None:
        """One call of the evaluation's, after what training changes before it; what only a choice needs is left to it."""
        for made in self.comparison.before.get(node, ()):
            self.node(made) if not isinstance(made, Choice) else branches.make(self, made)
        passive = is_same(node) or is_size(node)
        if node in self.comparison.own or (passive and any(n not in self.env for n in node.all_input_nodes)):
            return
        self.node(node)

    def node(self, node: Any) -> None:
        """One call."""
        name = short_name(node)
        self.place = node if node.meta.get("stack_trace") else self.place
        if name == "_set_grad_enabled":
            self.no_grad = not node.args[0]
        if name.startswith(SKIPPED):
            return
        if (counter := counter_of(node)) is not None:
            self.count(node, counter)
            return
        with self.builder.at(scope_of(node), node.name):
            args, kwargs = self.comparison.arguments[node]
            given = self.value(args)
            named = {k: self.value(v) for k, v in kwargs.items() if k not in _PLACEMENT}
            made = self.made(node, name, given, named)
            self.env[node] = self.without_gradient(made) if self.no_grad else made
            self.mutations.note(self, node, name, args)
        self.rename(node)

    def count(self, node: Any, counter: Any) -> None:
        """A normalisation counts a batch, while training."""
        base = self.comparison.partner.get(counter, counter)
        with self.builder.at(scope_of(node), node.name):
            self.builder.count_batch(self.env[base], ByMode(True, False))

    def store(self, kept: Value, value: Value) -> None:
        """Write a new content into a buffer."""
        assert kept.weight is not None
        if kept.weight.role == "parameter":
            raise Unsupported(f"the model changes its own parameter {kept.weight.source!r} while it runs")
        self.mutations.store(self.builder, kept, self.builder.tensor(value))

    def tensor_of(self, arg: Any) -> Value:
        """What an argument is, which must be a tensor."""
        made = self.value(arg)
        if not isinstance(made, Value):
            raise Unsupported("a size depends on the mode")
        return self.builder.tensor(made)

    def add_leaf(self, node: Any) -> None:
        """Bind a constant or a graph that only the training form has."""
        if node in self.env or node.op not in ("placeholder", "get_attr"):
            return
        owner, training = node.graph.owning_module, self.program.training
        if node.op == "get_attr":
            self.env[node] = getattr(owner, str(node.target))
            return
        assert training is not None
        key = training.graph_signature.inputs_to_lifted_tensor_constants[node.name]
        self.env[node] = constant(self, training.constants[key], f"{key}_in_training")

    def made(self, node: Any, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What a node computes: of sizes, a part of several results, or an operator's."""
        if node.target is operator.getitem:
            return given[0][given[1]]
        if is_higher_order(node):
            if name in INLINED:
                return self.inlined(node, name, given)
            inner = [partial(self.subgraph, g) if hasattr(g, "graph") else g for g in given]
            return handler_of(node)(self.builder, *inner, **named)
        if not hasattr(node.target, "_schema"):
            return self.of_sizes(node, given)
        if name == "sym_size":
            return given[0].shape[given[1]]
        if name == "sym_numel":
            return reduce(operator.mul, given[0].shape, 1)
        handler = handler_of(node)
        if handler is None:
            raise Unsupported("the operator is not supported")
        return handler(self.builder, *given, **named)

    def inlined(self, call: Any, name: str, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """A part of the model that runs with or without gradients, or autocast, read where it stands."""
        place = next(k for k, value in enumerate(given) if hasattr(value, "graph"))
        if name == "wrap_with_autocast" and given[2]:
            raise Unsupported("a part of the model switches autocast on", "choose the precision of the whole package")
        before = self.no_grad
        if name == "wrap_with_set_grad_enabled":
            self.no_grad = not given[0]
        operands, sources = iter(given[place + 1 :]), iter(self.comparison.arguments[call][0][place + 1 :])
        result: tuple[Any, ...] = ()
        for node in given[place].graph.nodes:
            if node.op == "placeholder":
                self.env[node] = next(operands)
                if hasattr(source := memory_of(next(sources)), "all_input_nodes"):
                    self.mutations.show(node, source)
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
        if isinstance(arg, Chosen):
            return branches.chosen(self, arg)
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
        """A result of what runs without gradients: it is cut off where it comes in, what follows from it has none."""
        if not isinstance(made, Value) or not made.is_float or made.weight is not None or made.static is not None:
            return made
        if made.node is None or not all(self.has_no_gradient(v) for v in made.node.tensors):
            made = self.builder.detach(made)
        self.cut_off.add(made)
        return made

    def has_no_gradient(self, value: Value) -> bool:
        """Whether no gradient can go through a value."""
        fixed = value.weight is not None and value.weight.role == "buffer"
        return fixed or not value.is_float or value in self.cut_off

    def rename(self, node: Any) -> None:
        """Give what a node computes the node's name."""
        made = self.env[node]
        if isinstance(made, Value) and made.node is not None and made.node.origin == (node.name,):
            self.builder.rename(made, node.name)

    def outputs(self, node: Any) -> None:
        """Make the results outputs, under their names; a package returns what it computes, never a weight or an input."""
        for made in self.comparison.before.get(node, ()):
            self.node(made) if not isinstance(made, Choice) else branches.make(self, made)
        for place in self.comparison.left_out:
            self.builder.note(only_in_training(self.comparison, place))
        args, _ = self.comparison.arguments.get(node, (node.args, {}))
        graph = self.builder.graph
        for leaf, fact in zip(args[0], self.program.outputs, strict=True):
            if not fact.is_tensor:
                continue
            made = self.value(leaf)
            if not isinstance(made, Value):
                self.builder.note(no_tensor(fact.name, "it is a size"))
                continue
            made = self.builder.tensor(made)
            if made.weight is not None or made in graph.inputs or made in graph.outputs:
                made = self.builder.clone(made)
            self.builder.rename(made, fact.name)
            graph.outputs.append(made)


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
    importer = Importer(
        program, builder, comparison, mutations=Mutations(read_before=read_before(program, comparison.partner))
    )
    current: Any = None
    try:
        add_state(importer)
        add_inputs(importer, samples)
        for current in program.evaluation.graph.nodes:
            if current.op == "call_function":
                importer.call(current)
            elif current.op == "get_attr":
                importer.env[current] = getattr(program.evaluation.graph_module, current.target)
            elif current.op == "output":
                importer.outputs(current)
    except InferenceError as fault:
        raise failed("MIG304", "the shapes do not fit", current, str(fault)) from fault
    except SizeError as fault:
        raise failed("MIG305", "the graph depends on the input's sizes", current, str(fault)) from fault
    except Unsupported as fault:
        raise failed(
            "MIG203", "cannot be expressed exactly", importer.place or current, fault.reason, fault.todo
        ) from fault
    return builder.graph
