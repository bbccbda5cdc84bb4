"""From an ONNX graph to the common graph, node by node. Knows the registry, not the operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import onnx_ir as ir

from migrate.errors import Exit, MigrateError, error
from migrate.frontends.onnx.invalid import invalid
from migrate.frontends.onnx.lift import place
from migrate.frontends.onnx.narrow import CARRIERS, HALF, MOVES, dtype_name, follow
from migrate.frontends.onnx.reader import mapped
from migrate.frontends.onnx.registry import Entry, Unsupported
from migrate.frontends.onnx.scopes import maker_of, scope_of
from migrate.frontends.onnx.sizes import InputSizes, Plan
from migrate.frontends.onnx.unsupported import entry_for
from migrate.graph import Builder, Dim, Graph, InferenceError, Size, SizeError, Value, Weight, batch
from migrate.graph.interpret import content_of


class OnnxBuilder(Builder):
    """A `Builder` with what ONNX handlers ask for."""

    num_outputs = 1  # up to the last one that is used
    output_names: tuple[str, ...] = ()
    opset = 1
    producer = ""
    fake = False  # whether weights of few bits are rounded to the source's steps
    subgraphs: Callable[..., tuple[Any, ...]]

    def inline(self, graph: Any, *inputs: Any) -> tuple[Any, ...]:
        """What a graph inside a node gives for these inputs; its nodes are added here."""
        return self.subgraphs(graph, inputs)

    def __init__(self, name: str = "model") -> None:
        super().__init__(name)
        self.narrow: dict[Value, str] = {}  # values of element types in which torch does not compute
        self.rounded: dict[
            Value, Value
        ] = {}  # for integers that were rounded: the same numbers as floats, with a gradient

    def numbers(self, value: Value) -> list[Any]:
        """The content of a value that must be known: numbers and sizes.

        Raises:
            Unsupported: it is computed from the data.
        """
        if value.static is not None:
            return value.static.reshape(-1).tolist()
        if value.weight is not None:
            return value.weight.array().reshape(-1).tolist()
        if (array := content_of(value)) is not None:
            return array.reshape(-1).tolist()
        raise Unsupported(f"{value.name!r} must be a constant or a size here, and is computed from the data")

    def number(self, value: Value | None, default: Any = None) -> Any:
        """The only element of a known value, or `default` where the input is absent."""
        if value is None:
            return default
        (item,) = self.numbers(value)
        return item

    def source(self, name: str, read: Callable[[], Any], dtype: str, shape: tuple[int, ...]) -> Value:
        """A tensor of the source file; 16-bit floats are read as float32, in which the package trains."""
        wide = CARRIERS.get(dtype) or HALF.get(dtype)
        reader = (lambda: read().astype(wide)) if wide else read
        maker = maker_of(name, self.producer)
        weight = Weight(source=name, read=reader, source_shape=shape, maker=maker)
        return self.marked(self.weight(name, wide or dtype, weight, shape), dtype)

    def marked(self, value: Value, dtype: str) -> Value:
        """The value, known to be of a type that its dtype only carries."""
        if dtype in CARRIERS:
            self.narrow[value] = dtype
        return value

    def kind(self, value: Value) -> str:
        """The source's element type of a value."""
        return self.narrow.get(value, value.dtype)


@dataclass(slots=True)
class Importer:
    """One attempt at one assignment of the free sizes."""

    model: ir.Model
    builder: OnnxBuilder
    env: dict[str, Any] = field(default_factory=dict[str, Any])

    def run(self) -> Graph:
        """Import every node and the outputs."""
        self.builder.subgraphs = self.subgraph
        self.nodes(self.model.graph)
        for value in self.model.graph.outputs:
            self.output(value.name or "")
        return self.builder.graph

    def nodes(self, graph: ir.Graph) -> None:
        """The initializers and nodes of a graph."""
        for name, value in graph.initializers.items():
            self.env[name] = self.initializer(name, value.const_value)
        for node in graph:
            self.node(node)

    def subgraph(self, graph: ir.Graph, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """A graph inside a node: it sees the values around it, and none of its own leaves it but its outputs."""
        outer = self.env
        names = [value.name or "" for value in graph.inputs]
        if len(inputs) != len(names):
            raise Unsupported(f"a graph inside that takes {len(names)} inputs and is given {len(inputs)}")
        self.env = {**outer, **dict(zip(names, inputs, strict=True))}
        self.nodes(graph)
        found = tuple(self.env[value.name or ""] for value in graph.outputs)
        self.env = outer
        return found

    def output(self, name: str) -> None:
        """Make a value an output, under the source's name where the value is computed and is no output already.

        A weight is copied: the package returns what a forward computes, never a parameter itself.
        """
        outputs = self.builder.graph.outputs
        if not isinstance(self.env[name], Value):
            raise Unsupported(f"the output {name!r} is no tensor")
        made = self.builder.tensor(self.env[name])
        if made.weight is not None:
            made = self.builder.clone(made)
        if made.node is not None and made not in outputs:
            self.builder.rename(made, name)
        outputs.append(made)

    def initializer(self, name: str, tensor: Any) -> Value:
        """A stored tensor; a module's float of rank 0 is learned like any other, and no number."""
        value = self.constant(name, tensor)
        if value.weight is not None and value.weight.maker == "module" and value.is_float and value.rank == 0:
            value.static = None
        return value

    def constant(self, name: str, tensor: Any) -> Value:
        """An initializer, or the value of a `Constant` node: the two are one thing."""
        if tensor is None:
            raise Unsupported(f"initializer {name!r} has no value")
        shape = tuple(int(s) for s in tensor.shape)
        read = partial(mapped, tensor) if isinstance(tensor, ir.ExternalTensor) else tensor.numpy
        return self.builder.source(name, read, dtype_name(tensor.dtype), shape)

    def node(self, node: ir.Node) -> None:
        """One node: bind inputs and attributes to the handler's parameters, and call it."""
        with self.builder.at(scope_of(node), place(node)):
            if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
                self.env[node.outputs[0].name or ""] = self.constant_node(node)
                return
            entry = entry_for(self.model, node)
            assert entry is not None
            inputs = [None if v is None or v.name == "" else self.env[v.name or ""] for v in node.inputs]
            attributes = {name: attribute_value(a) for name, a in node.attributes.items()}
            odd = [v for v in inputs if v is not None and not isinstance(v, Value)]
            if odd and entry.family not in ("control", "sequence", "shape"):
                raise Unsupported(f"{node.op_type} of a sequence or an optional")
            used = [i for i, v in enumerate(node.outputs, 1) if v.uses() or v.is_graph_output()]
            self.builder.num_outputs = max(used, default=1)
            self.builder.output_names = tuple(v.name or "" for v in node.outputs)
            result = self.with_batch_freed(entry, inputs, attributes)
            results = result if isinstance(result, tuple | list) else (result,)  # pyright: ignore[reportUnknownVariableType]
            if any(v in self.builder.narrow for v in inputs):
                kind = (node.op_type, node.domain, self.model.opset_imports.get(node.domain, 1))
                results = follow(self.builder, self.builder.narrow, kind, inputs, results)  # pyright: ignore[reportUnknownArgumentType]
            if node.op_type in MOVES and any(v in self.builder.rounded for v in inputs):
                self.move_rounded(entry, inputs, attributes, results)  # pyright: ignore[reportUnknownArgumentType]
        for value, made in zip(node.outputs, results, strict=False):  # pyright: ignore[reportUnknownArgumentType]
            if value.name:
                self.env[value.name] = made

    def move_rounded(
        self, entry: Entry, inputs: list[Value | None], attributes: dict[str, Any], results: Sequence[Value]
    ) -> None:
        """What moves rounded integers moves the floats of the same numbers as well: gradients pass through those."""
        rounded = self.builder.rounded
        floats = self.handled(entry, [v and rounded.get(v, v) for v in inputs], attributes)
        rounded.update(zip(results, floats if isinstance(floats, tuple | list) else (floats,), strict=False))  # pyright: ignore[reportUnknownArgumentType]

    def with_batch_freed(self, entry: Entry, inputs: list[Value | None], attributes: dict[str, Any]) -> Any:
        """What the handler makes; where a constant was repeated for a baked batch and does not fit, it is repeated anew."""
        try:
            return self.handled(entry, inputs, attributes)
        except InferenceError:
            if self.builder.declared_batch == 1 or entry.family == "control":  # a block's own nodes are freed in it
                raise
            for axis in range(max((v.rank for v in inputs if v is not None), default=0)):
                freed = [v if v is None else batch.freed(self.builder, v, axis) for v in inputs]
                if all(a is b for a, b in zip(freed, inputs, strict=True)):
                    continue
                with suppress(InferenceError):
                    return self.handled(entry, freed, attributes)
            raise

    def handled(self, entry: Entry, inputs: list[Value | None], attributes: dict[str, Any]) -> Any:
        """What the handler makes; a word that its tables lack is the source's fault, not ours."""
        try:
            return entry.handler(self.builder, *inputs, **attributes)
        except KeyError as fault:
            named = [name for name, value in attributes.items() if isinstance(value, str) and fault.args == (value,)]
            if not named:
                raise
            raise Unsupported(f"{named[0]} = {attributes[named[0]]!r}") from fault

    def constant_node(self, node: ir.Node) -> Value:
        """The value of a `Constant` node in any of its attribute forms."""
        ((kind, attribute),) = node.attributes.items()
        name = node.outputs[0].name or ""
        if kind == "value":
            return self.constant(name, attribute.value)
        if kind not in ("value_int", "value_ints", "value_float", "value_floats"):
            raise Unsupported(f"a Constant given as {kind}")
        array = np.array(attribute.value, dtype="int64" if "int" in kind else "float32")
        return self.builder.source(name, lambda: array, str(array.dtype), array.shape)


def attribute_value(attribute: Any) -> Any:
    """An attribute as a plain Python value; strings decoded, tensors and graphs as onnx-ir gives them.

    A float is stored in 32 bits: it is given the fewest digits that mean the same, so that 1e-05 is not 9.99999974e-06.
    """
    value = attribute.value
    if attribute.type is ir.AttributeType.FLOAT:
        return float(str(np.float32(value)))
    if attribute.type is ir.AttributeType.FLOATS:
        return tuple(float(str(np.float32(item))) for item in value)
    return tuple(value) if isinstance(value, list | tuple) else value  # pyright: ignore[reportUnknownArgumentType]


def attempt(
    model: ir.Model, inputs: list[InputSizes], plan: Plan, symbol: str | None, declared: int, again: bool = False,
    *, fake: bool = False,
) -> Graph:  # fmt: skip
    """Import at one assignment of sizes; `again` frees a baked batch more boldly, `fake` rounds weights of few bits.

    Raises:
        MigrateError: with the node at which it failed; its diagnostic's code tells sizes (MIG304) from operators (MIG203).
    """
    builder = OnnxBuilder(model.graph.name or "model")
    builder.declared_batch, builder.frees_repeats = declared, again
    builder.producer, builder.fake = model.producer_name or "", fake
    importer = Importer(model, builder)
    baked = symbol is not None and not any(symbol in item.shape for item in inputs)
    try:
        for item in inputs:
            _add_input(importer, item, plan, symbol, baked)
        return importer.run()
    except InferenceError as fault:
        raise _failed("MIG304", "the shapes do not fit", builder, str(fault)) from fault
    except SizeError as fault:
        raise _failed("MIG305", "the graph depends on the input's sizes", builder, str(fault)) from fault
    except Unsupported as fault:
        raise _failed("MIG203", "cannot be expressed exactly", builder, fault.reason, fault.todo) from fault
    except Exception as fault:
        # A handler trusts that a node is what its schema says; where ONNX itself says that it is not, that is the reason.
        if why := invalid(model):
            raise _failed("MIG102", "not a valid ONNX model", builder, why, status=Exit.INPUT) from fault
        raise


def _add_input(importer: Importer, item: InputSizes, plan: Plan, symbol: str | None, baked: bool) -> None:
    builder = importer.builder
    declared = builder.declared_batch
    (value,) = (v for v in importer.model.graph.inputs if v.name == item.name)
    name = dtype_name(value.dtype)
    dtype = HALF.get(name) or CARRIERS.get(name, name)
    shape: list[Any] = []
    for axis, size in enumerate(item.shape):
        if axis == item.batch_axis and len(item.shape) > 1 and baked and size == declared:
            size = symbol
        sample = plan.get(size) if isinstance(size, str) else size
        shape.append((size, sample) if isinstance(sample, tuple) else sample)
    made = importer.env[item.name] = importer.builder.marked(builder.input(item.name, dtype, shape), name)
    axis = next(
        (i for i, s in enumerate(made.shape) if isinstance(s, Dim) and symbol and s.values == plan[symbol]), None
    )
    if axis is not None:
        builder.graph.batch = made.shape[axis]  # pyright: ignore[reportAttributeAccessIssue]
        builder.graph.batch_axes[made.name] = axis


def _failed(
    code: str, what: str, builder: Builder, why: str, todo: str = "", status: Exit = Exit.UNSUPPORTED
) -> MigrateError:
    return MigrateError([error(code, what, where=", ".join(builder.origin), why=why, todo=todo)], status)


__all__ = ["Importer", "OnnxBuilder", "Size", "attempt", "dtype_name", "place"]
