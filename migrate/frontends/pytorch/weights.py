"""The tensors of a program as weights of the graph: each at the names under which the modules hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from migrate.frontends.pytorch.places import called_in
from migrate.graph import Value, Weight
from migrate.graph.weights import Array

if TYPE_CHECKING:
    from migrate.frontends.pytorch.importer import Importer
    from migrate.frontends.pytorch.program import ModuleFact, Program, StateFact

HALF = {"float16": "float32", "bfloat16": "float32"}


def tensor_of(program: Program, key: str) -> Any:
    """The tensor of a key of the state, or of a constant."""
    exported = program.evaluation
    found = exported.state_dict.get(key)
    return exported.constants[key] if found is None else found


def array_of(program: Program, key: str) -> Array:
    """The content of a key of the state, or of a constant."""
    return content(tensor_of(program, key))


def content(tensor: Any) -> Array:
    """The content of a tensor; half precision as float32, in which the package trains."""
    import torch

    tensor = tensor.detach()
    if tensor.dtype in (torch.float16, torch.bfloat16):
        tensor = tensor.float()
    return tensor.cpu().contiguous().numpy()


def add_state(importer: Importer) -> None:
    """Bind every parameter, buffer and constant of the program, used or not."""
    graph, program = importer.builder.graph, importer.program
    graph.classes = {_path(m.path): m.cls for m in program.modules}
    graph.arguments = {_path(m.path): _tuples(m.arguments) for m in program.modules if m.arguments is not None}
    graph.places = {_path(m.path): _place(m) for m in program.modules}
    graph.versions = {_path(m.path): m.version for m in program.modules if _has_version(m)}
    graph.called = {path for node in program.evaluation.graph.nodes for path in called_in(node)}
    values: dict[str, Value] = {}
    for fact in program.state:
        if fact.tied_to is None:
            values[fact.key] = _value(importer, fact, _homes(program, fact.key))
    values |= {fact.key: values[fact.tied_to] for fact in program.state if fact.tied_to is not None}
    graph.state = list(dict.fromkeys(values.values()))
    nodes = {node.name: node for node in program.evaluation.graph.nodes if node.op == "placeholder"}
    for spec in program.evaluation.graph_signature.input_specs:
        if spec.target is None or spec.arg.name not in nodes:  # pyright: ignore[reportAttributeAccessIssue]
            continue
        found = values.get(spec.target)
        importer.env[nodes[spec.arg.name]] = _constant(importer, spec.target) if found is None else found  # pyright: ignore[reportAttributeAccessIssue]


def _path(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split(".") if part)


def _tuples(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that may have been written down as JSON, which has lists only."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in arguments.items()}  # pyright: ignore[reportUnknownArgumentType]


def _place(fact: ModuleFact) -> str:
    """The class of a module, and where that is written."""
    name = fact.cls.rpartition(".")[2]
    return f"{name}, {fact.place}" if fact.place else name


def _has_version(fact: ModuleFact) -> bool:
    """Whether a module's state has a version of its own; torch's layers know theirs."""
    return fact.version != 1 and not fact.cls.startswith("torch.nn.")


def _homes(program: Program, key: str) -> tuple[str, ...]:
    return (key, *(fact.key for fact in program.state if fact.tied_to == key))


def _value(importer: Importer, fact: StateFact, homes: tuple[str, ...]) -> Value:
    program = importer.program
    weight = Weight(
        source=fact.key,
        read=lambda: array_of(program, fact.key),
        source_shape=fact.shape,
        role=fact.kind,
        trainable=fact.kind == "parameter" and fact.requires_grad,
        kind="num_batches_tracked" if fact.key.endswith("num_batches_tracked") else "",
        maker="module",
        homes=homes,
        persistent=fact.persistent,
    )
    return importer.builder.weight(fact.key, HALF.get(fact.dtype, fact.dtype), weight, fact.shape)


def _constant(importer: Importer, key: str) -> Value:
    """A tensor that the module has as a plain attribute, or that was written down in a forward."""
    return constant(importer, tensor_of(importer.program, key), key)


def constant(importer: Importer, tensor: Any, name: str) -> Value:
    """A tensor that no module holds."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    weight = Weight(
        source=name,
        read=lambda: content(tensor),
        source_shape=tuple(tensor.shape),
        role="buffer",
        trainable=False,
        persistent=False,
    )
    return importer.builder.weight(name, HALF.get(dtype, dtype), weight, tuple(tensor.shape))
