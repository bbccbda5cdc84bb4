"""The inputs of a program: their free sizes by name, and the three values at which each is sampled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from migrate.errors import Exit, MigrateError, error
from migrate.frontends.pytorch.program import Program
from migrate.graph import Dim
from migrate.graph.sampling import BATCH, FREE, LARGE, SMALL, UNEVEN, Sample

if TYPE_CHECKING:
    from migrate.frontends.pytorch.importer import Importer

HALF = {"float16": "float32", "bfloat16": "float32"}
Samples = dict[Any, Sample]


def placeholders(program: Program) -> list[Any]:
    """The tensors that the module takes, in order."""
    wanted = set(program.input_names)
    return [n for n in program.evaluation.graph.nodes if n.op == "placeholder" and n.name in wanted]


def _symbols(program: Program) -> dict[Any, tuple[Any, int]]:
    """The free symbols of the inputs' sizes, each with the first input and axis that it is."""
    found: dict[Any, tuple[Any, int]] = {}
    for node in placeholders(program):
        for axis, size in enumerate(node.meta["val"].shape):
            for symbol in sorted(_expression(size).free_symbols, key=str):
                found.setdefault(symbol, (node, axis))
    return found


def _batches(symbols: dict[Any, tuple[Any, int]]) -> set[Any]:
    """The symbols of first axes that have one size in the example: one batch, though nothing in the model says so."""
    hints = {s: node.meta["val"].shape[0].node.hint for s, (node, axis) in symbols.items() if axis == 0}
    return {s for s, hint in hints.items() if hint == next(iter(hints.values()))}


def _expression(size: Any) -> Any:
    import sympy

    return sympy.Integer(size) if isinstance(size, int) else size.node.expr


def candidates(program: Program) -> Iterator[Samples]:
    """Assignments to try in turn: the batch as ever, other free sizes uneven, even, large and small."""
    symbols = _symbols(program)
    batches = _batches(symbols)
    free = [s for s in symbols if s not in batches]
    named = _named(program)
    for turn, table in enumerate((UNEVEN, FREE, LARGE, SMALL)):
        made = {s: BATCH if s in batches else table[free.index(s) % len(table)] for s in symbols}
        yield made | {s: samples[min(turn, len(samples) - 1)] for s, samples in named.items() if s not in batches}
        if not free:
            return


def _named(program: Program) -> dict[Any, tuple[Sample, ...]]:
    """The samples of the symbols that the user has named."""
    nodes = {node.name: node for node in placeholders(program)}
    sizes = [(_expression(nodes[fact.input].meta["val"].shape[fact.axis]), fact.samples) for fact in program.sizes]
    return {symbol: samples for size, samples in sizes for symbol in size.free_symbols}


def add_inputs(importer: Importer, samples: Samples) -> None:
    """Make the inputs of the graph, and bind arguments that are no tensors to the example's.

    A first axis that export has fixed at the batch is the batch all the same.
    """
    builder, program = importer.builder, importer.program
    baked = program.declared_batch if program.declared_batch > 1 or not samples else 0
    names = _names(program)
    for node in placeholders(program):
        value = node.meta["val"]
        shape: list[Any] = []
        for axis, size in enumerate(value.shape):
            sampled = _sampled(size, samples)
            if axis == 0 and baked and size == baked:
                shape.append(("batch", BATCH))
            elif isinstance(sampled, int):
                shape.append(sampled)
            else:
                shape.append((names.get(str(_expression(size)), f"{node.name}_{axis}"), sampled))
        dtype = str(value.dtype).removeprefix("torch.")
        made = importer.env[node] = builder.input(node.name, HALF.get(dtype, dtype), shape)
        axis = next((k for k, s in enumerate(made.shape) if isinstance(s, Dim) and s.values == BATCH), None)
        if axis is not None:
            builder.graph.batch = made.shape[axis]  # pyright: ignore[reportAttributeAccessIssue]
            builder.graph.batch_axes[made.name] = axis
    builder.graph.ranges = {fact.name: (fact.low, fact.high) for fact in program.sizes}
    _bind_constants(importer)


def _names(program: Program) -> dict[str, str]:
    """A readable name of each symbol."""
    called = {(fact.input, fact.axis): fact.name for fact in program.sizes}
    return {
        str(s): "batch" if axis == 0 else called.get((node.name, axis), f"{node.name}_{axis}")
        for s, (node, axis) in _symbols(program).items()
    }


def _sampled(size: Any, samples: Samples) -> int | Sample:
    expression = _expression(size)
    if not expression.free_symbols:
        return int(expression)
    values = [int(expression.subs({s: v[k] for s, v in samples.items()})) for k in range(3)]
    if min(values) < 1:
        raise MigrateError([error("MIG304", f"no legal sizes are known for {expression}")], Exit.UNSUPPORTED)
    return values[0] if len(set(values)) == 1 else (values[0], values[1], values[2])


def _bind_constants(importer: Importer) -> None:
    for spec in importer.program.evaluation.graph_signature.input_specs:
        if not hasattr(spec.arg, "value"):
            continue
        for node in importer.program.evaluation.graph.nodes:
            if node.op == "placeholder" and node.name == spec.arg.name:  # pyright: ignore[reportAttributeAccessIssue]
                importer.env[node] = spec.arg.value  # pyright: ignore[reportAttributeAccessIssue]
