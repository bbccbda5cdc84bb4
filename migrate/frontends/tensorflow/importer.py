"""From flat TensorFlow nodes to the common graph, node by node. Knows the registry, not the operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from migrate.errors import Exit, MigrateError, error
from migrate.frontends.tensorflow.builder import DEAD, Handle, Laid, TensorflowBuilder
from migrate.frontends.tensorflow.files import Port, TensorflowModel
from migrate.frontends.tensorflow.flatten import ARGUMENT
from migrate.frontends.tensorflow.layers import LayerFacts, layer_facts
from migrate.frontends.tensorflow.messages import damaged
from migrate.frontends.tensorflow.registry import Entry, Unsupported, find
from migrate.frontends.tensorflow.tensors import HALF
from migrate.frontends.tensorflow.unsupported import bind, unsupported_ops
from migrate.frontends.tensorflow.variables import HANDLES
from migrate.graph import Graph, InferenceError, SizeError, Value
from migrate.graph.batch import check_batch
from migrate.graph.description import Description
from migrate.graph.sampling import BATCH, FREE, LARGE, SMALL, UNEVEN

FUNCTIONS = ("batchnorm", "Tensordot", "convolution", "depthwise", "einsum", "moments", "Gelu")
MAX_BODIES = 5_000
SPATIAL = {3: ("length",), 4: ("height", "width"), 5: ("depth", "height", "width")}


@dataclass(slots=True)
class Importer:
    """One attempt at one table of free sizes."""

    model: TensorflowModel
    builder: TensorflowBuilder
    table: Any
    given: dict[str, tuple[int | str, ...]]
    env: dict[str, Any] = field(default_factory=dict[str, Any])
    symbols: dict[str, Any] = field(default_factory=dict[str, Any])
    dead: set[str] = field(default_factory=set[str])
    num_bodies: int = 0

    def run(self, nodes: Sequence[Any]) -> Graph:
        """Import the inputs, every node, and the outputs."""
        for port in self.model.inputs:
            self.env[port.value] = Laid(self.input(port))
        self.nodes(nodes)
        for port in self.model.outputs:
            self.output(port)
        return self.builder.graph

    def nodes(self, nodes: Sequence[Any]) -> None:
        """Nodes in order; those that are given already are left out."""
        for node in nodes:
            if f"{node.name}:0" in self.env:
                continue
            if node.op in HANDLES:
                self.env[f"{node.name}:0"] = self.handle(node)
                continue
            if node.op != "Merge" and any(self.taken(text) is DEAD for text in node.input):
                self.dead.add(node.name)
                continue
            entry = find(node.op)
            assert entry is not None
            with self.builder.at(scope_of(node.name), node.name):
                made = self.handled(entry, node)
            for index, item in enumerate(made):
                self.env[f"{node.name}:{index}"] = item

    def taken(self, text: str) -> Any:
        """What is known by a flat name; nothing in a branch that is not taken."""
        return DEAD if text.partition(":")[0] in self.dead else self.env[text]

    def handle(self, node: Any) -> Any:
        """A variable; one of TensorFlow 1 is read wherever it is named."""
        variable = self.model.variables[node.name]
        return Handle(variable) if node.op == "VarHandleOp" else Laid(self.builder.variable(variable))

    def handled(self, entry: Entry, node: Any) -> list[Any]:
        """What the handler makes of a node."""
        b = self.builder
        b.name, b.op_type = node.name, node.op
        inputs = [self.taken(text) for text in node.input]
        named = bind(entry, node)
        flat: tuple[int, ...] | None = None
        b.first = False
        odd = any(not isinstance(item, Laid) for item in inputs)
        if entry.layout == "laid" or odd:
            made = entry.handler(b, *inputs, **named)
        elif entry.layout == "any":
            values, b.first, flat = b.alike(inputs)
            made = entry.handler(b, *values, **named)
        elif entry.layout == "first" and not str(named.get("data_format", "")).startswith("NC"):
            values = [b.to_first(inputs[0]).value, *(b.to_source(item).value for item in inputs[1:])]
            b.first = True
            made = entry.handler(b, *values, **named)
        else:
            made = entry.handler(b, *(b.to_source(item).value for item in inputs), **named)
        many = made if isinstance(made, list | tuple) else (made,)  # pyright: ignore[reportUnknownVariableType]
        return [_result(item, b.first, flat) for item in many]  # pyright: ignore[reportUnknownVariableType]

    def subgraph(self, function: str, inputs: Sequence[Any]) -> list[Any]:
        """A function's body: it sees its arguments alone."""
        self.num_bodies += 1
        if self.num_bodies > MAX_BODIES:
            raise Unsupported(f"branches and loops that come to more than {MAX_BODIES} bodies")
        nodes, arguments, results = self.model.flat.function(function, f"{self.builder.name}/")
        unsupported_ops([node for node in nodes if node.op != ARGUMENT and node.op not in HANDLES])
        outer, self.env = self.env, dict(zip(arguments, inputs, strict=True))
        try:
            self.nodes(nodes)
            return [self.env[name] for name in results]
        finally:
            self.env = outer

    def input(self, port: Port) -> Value:
        """An input of the graph; free sizes are sampled, the batch apart."""
        dims, given = port.dims, self.given.get(port.name)
        if dims is None:
            dims = (-1,) * len(given) if given is not None else None
        if dims is None:
            raise Unsupported(
                f"the sizes of the input {port.name!r} are not known", "give them with --input NAME:SIZES"
            )
        if given is not None and len(given) != len(dims):
            raise Unsupported(f"{len(dims)} sizes, and {len(given)} are given with --input")
        sizes = [self._size(port.name, axis, dims, given) for axis in range(len(dims))]
        value = self.builder.input(port.name, HALF.get(port.dtype, port.dtype), sizes)
        if self.builder.graph.batch is None and value.shape and not isinstance(value.shape[0], int):
            self.builder.graph.batch = value.shape[0]
        return value

    def _size(self, name: str, axis: int, dims: tuple[int, ...], given: tuple[int | str, ...] | None) -> Any:
        if axis == 0:
            self.builder.declared_batch = dims[0] if dims[0] > 0 else 1
            return ("batch", BATCH)
        if dims[axis] >= 0:
            return dims[axis]
        if given is not None and isinstance(given[axis], int):
            return given[axis]
        spatial = SPATIAL.get(len(dims), ())
        usual = spatial[axis - 1] if axis - 1 < len(spatial) else f"{name}_{axis}"
        symbol = usual if given is None else str(given[axis])
        free = self.symbols.setdefault(symbol, self.table[len(self.symbols) % len(self.table)])
        return (symbol, free)

    def output(self, port: Port) -> None:
        """Make a result an output, in TensorFlow's layout."""
        b = self.builder
        laid = self.env[port.value]
        if not isinstance(laid, Laid):
            raise Unsupported(f"the output {port.name!r} is no tensor")
        value = b.tensor(b.to_source(laid).value)
        if value in b.graph.inputs or value in b.graph.outputs or value.weight is not None:
            value = b.clone(value)
        b.rename(value, port.name)
        b.graph.outputs.append(value)


def _result(made: Any, first: bool, flat: tuple[int, ...] | None) -> Any:
    return Laid(made, first and made.rank > 2, flat) if isinstance(made, Value) else made


def scope_of(name: str) -> tuple[str, ...]:
    """The place in the module tree that a node's name says, without the functions of TensorFlow's that the node is part of."""
    parts = [part for part in name.split("/")[:-1] if part]
    while parts and parts[-1] in FUNCTIONS:
        parts.pop()
    return tuple(parts)


def load_tensorflow(model: TensorflowModel, input_shapes: dict[str, tuple[int | str, ...]] | None = None) -> Graph:
    """Read a model into the common graph.

    Args:
        model: that `read_tensorflow` has opened.
        input_shapes: fixed shapes by input name, where the model leaves sizes free.

    Raises:
        MigrateError: exit status 3 for a damaged file, 4 for operators that are not supported.
    """
    facts = layer_facts(model)
    given = {port.value.partition(":")[0] for port in model.inputs}
    unsupported_ops([node for node in facts.nodes if node.name not in given and node.op not in HANDLES])
    first: MigrateError | None = None
    for table in (UNEVEN, FREE, LARGE, SMALL):
        importer = _importer(model, facts, table, dict(input_shapes or {}))
        try:
            return _attempt(importer, facts)
        except MigrateError as fault:
            first = first or fault
            if not importer.symbols or fault.diagnostics[0].code not in ("MIG304", "MIG305"):
                raise first from fault
    assert first is not None
    raise first


def _importer(model: TensorflowModel, facts: LayerFacts, table: Any, shapes: dict[str, Any]) -> Importer:
    builder = TensorflowBuilder("model", facts.momenta, facts.rates)
    builder.trains_constants = not any(variable.trainable for variable in model.variables.values())
    importer = Importer(model, builder, table, shapes)
    builder.subgraphs, builder.bodies = importer.subgraph, model.flat.function
    return importer


def _attempt(importer: Importer, facts: LayerFacts) -> Graph:
    try:
        graph = importer.run(facts.nodes)
    except InferenceError as fault:
        raise _failed(importer, "MIG304", "the shapes do not fit", str(fault)) from fault
    except SizeError as fault:
        raise _failed(importer, "MIG305", "the graph depends on the input's sizes", str(fault)) from fault
    except Unsupported as fault:
        raise _failed(importer, "MIG203", "cannot be expressed exactly", fault.reason, fault.todo) from fault
    except (KeyError, TypeError, ValueError, IndexError) as fault:  # a node that is not what its operator says
        where = ", ".join(importer.builder.origin) or importer.builder.name
        raise damaged(importer.model.name, f"{where}: {type(fault).__name__}: {fault}") from fault
    graph.notes.extend(facts.notes)
    return check_batch(graph)


def _failed(importer: Importer, code: str, what: str, why: str, todo: str = "") -> MigrateError:
    where = ", ".join(importer.builder.origin) or importer.builder.name
    return MigrateError([error(code, what, where=where, why=why, todo=todo)], Exit.UNSUPPORTED)


def describe_tensorflow(model: TensorflowModel) -> Description:
    """Facts of the file itself."""
    counts = Counter(node.op for node in model.nodes)
    producer = f"tensorflow {model.version}" if model.version else ""
    return Description(format=model.kind, producer=producer, operators=dict(sorted(counts.items())))
