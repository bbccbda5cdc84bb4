"""The original PyTorch module as the judge of a package. Knows no package and judges nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from migrate.errors import Diagnostic, MigrateError
from migrate.frontends.pytorch.call import arguments_of
from migrate.frontends.pytorch.compare import compare
from migrate.frontends.pytorch.engine import Engine, ModuleEngine, WorkerEngine, failed, runnable, widened
from migrate.frontends.pytorch.notes import no_loop
from migrate.frontends.pytorch.pairing import outputs_of
from migrate.frontends.pytorch.weights import HALF, array_of
from migrate.graph import Graph
from migrate.graph.chunks import Array, input_axes, joined, output_axes, part

if TYPE_CHECKING:
    import torch
    import torch.fx

    from migrate.frontends.pytorch.worker_open import OpenedProgram

Target = str | tuple[str, int]
SETTINGS = ("momentum", "eps", "p")
FINAL = ("softmax", "_softmax", "log_softmax", "_log_softmax", "sigmoid")


class PytorchOracle:
    """A source that can be run: a module in this process or in the worker's, or an exported program, its own module."""

    def __init__(self, opened: OpenedProgram) -> None:
        import torch

        self.program = opened.program
        self._setup = opened.setup
        self.notes: list[Diagnostic] = []
        self.engine = f"torch {torch.__version__.partition('+')[0]}, the original module"
        self._engine: Engine
        arguments = partial(arguments_of, self.program)
        if opened.worker is not None:
            self._engine = WorkerEngine(worker=opened.worker)
        elif opened.module is not None:
            self._engine = ModuleEngine(module=runnable(opened.module), arguments=arguments)
        else:
            module = widened(self.program.evaluation.module())
            self._engine = ModuleEngine(module=module, arguments=arguments, has_modes=False)
            self.engine = f"torch {torch.__version__.partition('+')[0]}, the exported program"
        self._is_module = opened.worker is not None or opened.module is not None
        self._graph: Graph | None = None

    def follow(self, graph: Graph) -> None:
        """Take from the graph which axes are the batch."""
        self._graph = graph

    @property
    def output_names(self) -> list[str]:
        """The outputs, in order."""
        return list(self.program.output_names)

    def run(self, inputs: Sequence[Array], overrides: Mapping[Target, Array] | None = None) -> list[Array]:
        """The outputs, with weights replaced; a program whose batch is fixed runs part by part."""
        replaced = {str(name): _tensor(array) for name, array in (overrides or {}).items()}
        graph, chunk = self._graph, self.program.declared_batch
        axes = input_axes(graph) if graph is not None else []
        total = next((a.shape[i] for a, i in zip(inputs, axes, strict=False) if i is not None), None)
        if self._is_module or graph is None or total is None or chunk in (1, total):
            return self._run(inputs, replaced)
        parts = [
            self._run([part(a, i, start, chunk) for a, i in zip(inputs, axes, strict=True)], replaced)
            for start in range(0, total, chunk)
        ]
        groups = zip(zip(*parts, strict=True), output_axes(graph), strict=True)
        return [joined(list(group), axis, total, chunk) for group, axis in groups]

    def intermediates(
        self, inputs: Sequence[Array], names: Sequence[str], overrides: Mapping[Target, Array] | None = None
    ) -> dict[str, Array]:
        """Outputs of the module; other values, by the names of the exported program's nodes, of that program."""
        found = dict(zip(self.output_names, self.run(inputs, overrides), strict=True))
        inner = [name for name in names if name not in found]
        if inner:
            replaced = dict(overrides or {})
            replaced |= {f.key: replaced[f.tied_to] for f in self.program.state if f.tied_to in replaced}
            found |= _recorded(self.program.evaluation, [_tensor(a) for a in inputs], set(inner), replaced)
        return {name: found[name] for name in names}

    def learning(self, inputs: Sequence[Array], seed: int) -> dict[str, torch.Tensor] | None:
        """What the module does when it learns, as `runtime.verify.learning` measures it."""
        given = [_tensor(a) for a in inputs]
        outputs, idle = self._in_training
        try:
            found = self._engine.learn(given, seed, outputs)
        except MigrateError:
            raise
        except Exception as fault:  # whatever the user's module raises
            raise failed(fault, given) from fault
        buffers = {name: name.removeprefix("training/buffer/") for name in found if name.startswith("training/buffer/")}
        still = {name: _tensor(array_of(self.program, key)) for name, key in buffers.items() if _is_in(key, idle)}
        return {**found, **still}

    @cached_property
    def _in_training(self) -> tuple[tuple[int, ...], frozenset[str]]:
        """Which outputs of training the package gives, where there are more; and the modules that serve the others only."""
        training = self.program.training
        if training is None or len(outputs_of(training)) == len(outputs_of(self.program.evaluation)):
            return (), frozenset()
        found = compare(self.program.evaluation, training)
        return found.outputs, found.idle

    def losses(self, steps: int) -> dict[str, torch.Tensor] | None:
        """The losses of the user's own training loop, where the factory returned all of it, and what they were taken on."""
        setup, engine = self._setup, self._engine
        if not isinstance(engine, WorkerEngine) or setup.optimizer is None or setup.loss is None:
            return None
        places = {name.partition(".")[0] for name in setup.batch}
        found = "the factory returned no batch of inputs and targets" if len(places) < 2 else engine.loop(steps)
        if isinstance(found, str):
            self.notes.append(no_loop(found))
            return None
        return found

    def state(self) -> dict[str, tuple[tuple[int, ...], str]] | None:
        """Key -> shape and dtype of the state_dict; half precision as float32, in which the package trains."""
        return {f.key: (f.shape, HALF.get(f.dtype, f.dtype)) for f in self.program.state if f.persistent}

    # ---- the structure of the source

    @cached_property
    def _nodes(self) -> dict[str, torch.fx.Node]:
        return {node.name: node for node in self.program.evaluation.graph.nodes}

    def outputs_of(self) -> dict[str, tuple[str, ...]]:
        """For each node the names of the values that it makes: its own."""
        return {name: (name,) for name, node in self._nodes.items() if node.op == "call_function"}

    def logits_of(self, output: int) -> str | None:
        """The node from which a final softmax or sigmoid makes an output."""
        from migrate.frontends.pytorch.nodes import short_name

        (returned,) = (node for node in self._nodes.values() if node.op == "output")
        leaves: Any = returned.args[0]
        tensors = [leaf for leaf, fact in zip(leaves, self.program.outputs, strict=True) if fact.is_tensor]
        last = tensors[output]
        if last.op != "call_function" or short_name(last) not in FINAL:
            return None
        return last.args[0].name

    def weight(self, name: str) -> Array | None:
        """The content of an entry of the state."""
        return array_of(self.program, name) if any(f.key == name for f in self.program.state) else None

    def uses(self, source: str, nodes: Sequence[str], op: str, position: int) -> list[Target]:
        """A weight is one tensor wherever it is used."""
        del nodes, op, position
        return [source]

    def weights_into(self, node: str) -> list[str]:
        """None is stored twice: ties are known."""
        del node
        return []

    def learned_weights(self) -> list[str]:
        """The parameters."""
        return [fact.key for fact in self.program.state if fact.kind == "parameter" and fact.tied_to is None]

    def settings(self) -> dict[str, dict[str, float]]:
        """For each node the momentum, eps and rate that it is called with."""
        found: dict[str, dict[str, float]] = {}
        for name, node in self._nodes.items():
            schema: Any = getattr(node.target, "_schema", None)
            if schema is None:
                continue
            given: dict[str, Any] = {a.name: v for a, v in zip(schema.arguments, node.args, strict=False)} | dict(
                node.kwargs
            )
            kept = {n: float(given[n]) for n in SETTINGS if isinstance(given.get(n), int | float)}
            if kept:
                found[name] = kept
        return found

    def _run(self, inputs: Sequence[Array], replaced: dict[str, torch.Tensor]) -> list[Array]:
        given = [_tensor(a) for a in inputs]
        try:
            return [t.detach().cpu().numpy() for t in self._engine.run(given, replaced)]
        except MigrateError:
            raise
        except Exception as fault:  # whatever the user's module raises
            raise failed(fault, given) from fault


def _is_in(key: str, modules: frozenset[str]) -> bool:
    """Whether one of the modules holds an entry of the state."""
    return key.rpartition(".")[0] in modules


def _tensor(array: Array) -> torch.Tensor:
    import torch

    return torch.from_numpy(np.array(array))


def _recorded(
    exported: Any, inputs: Sequence[torch.Tensor], names: set[str], overrides: Mapping[Target, Array]
) -> dict[str, Array]:
    """Values of an exported program's nodes."""
    import torch
    import torch.fx

    found: dict[str, Array] = {}

    class Recorder(torch.fx.Interpreter):
        def run_node(self, n: torch.fx.Node) -> Any:
            value = super().run_node(n)
            if n.name in names and isinstance(value, torch.Tensor):
                found[n.name] = value.detach().numpy()
            return value

    tensors = exported.state_dict | exported.constants | {str(k): _tensor(v) for k, v in overrides.items()}
    given = iter(inputs)
    arguments: list[Any] = []
    for spec in exported.graph_signature.input_specs:
        if spec.kind.name == "USER_INPUT":
            arguments.append(next(given) if not hasattr(spec.arg, "value") else spec.arg.value)
        else:
            arguments.append(tensors[spec.target].detach().clone())
    with torch.no_grad():
        Recorder(exported.graph_module).run(*arguments)
    return found
