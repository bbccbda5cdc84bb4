"""Facts of a module or of an exported program: its state, modules, inputs and outputs. Exports nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from migrate.frontends.pytorch.constructors import arguments_of
from migrate.frontends.pytorch.places import module_of, place_of, source_line
from migrate.frontends.pytorch.program import ModuleFact, OutputFact, StateFact
from migrate.frontends.pytorch.structure import output_paths

if TYPE_CHECKING:
    import torch
    from torch import nn
    from torch.export import ExportedProgram


def state_of(module: nn.Module) -> Iterator[StateFact]:
    """Every parameter and buffer of a module, under each of its names."""
    owners = dict(module.named_modules(remove_duplicate=False))
    first: dict[int, str] = {}
    for key, tensor in module.named_parameters(remove_duplicate=False):
        yield _fact(key, tensor, "parameter", True, first)
    for key, tensor in module.named_buffers(remove_duplicate=False):
        path, _, name = key.rpartition(".")
        hidden: set[str] = owners[path]._non_persistent_buffers_set  # pyright: ignore[reportAssignmentType]
        yield _fact(key, tensor, "buffer", name not in hidden, first)


def state_of_program(exported: ExportedProgram) -> Iterator[StateFact]:
    """Every parameter and buffer of an exported program."""
    signature = exported.graph_signature
    parameters, hidden = set(signature.parameters), set(signature.non_persistent_buffers)
    first: dict[Any, str] = {}
    for key, tensor in exported.state_dict.items():
        yield _fact(key, tensor, "parameter" if key in parameters else "buffer", True, first)
    for key in signature.buffers:
        if key in hidden:
            yield _fact(key, exported.constants[key], "buffer", False, first)  # pyright: ignore[reportArgumentType]


def _fact(key: str, tensor: torch.Tensor, kind: Any, persistent: bool, first: dict[Any, str]) -> StateFact:
    # two names of one tensor, or of one place in memory in the same layout
    mark = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride()) if tensor.numel() else id(tensor)
    owner = first.setdefault(mark, key)
    return StateFact(
        key=key,
        shape=tuple(tensor.shape),
        dtype=str(tensor.dtype).removeprefix("torch."),
        kind=kind,
        requires_grad=tensor.requires_grad,
        persistent=persistent,
        tied_to=None if owner == key else owner,
    )


def modules_of(module: nn.Module) -> Iterator[ModuleFact]:
    """Every module, under each of its paths."""
    for path, each in module.named_modules(remove_duplicate=False):
        kind = type(each)
        version = kind._version if isinstance(kind._version, int) else 1  # anyone may call anything by that name
        yield ModuleFact(
            path=path,
            cls=f"{kind.__module__}.{kind.__qualname__}",
            arguments=arguments_of(each),
            version=version,
            place=place_of(kind),
        )


def modules_of_program(exported: ExportedProgram) -> Iterator[ModuleFact]:
    """The modules whose calls an exported program tells of."""
    found: dict[str, str] = {}
    lines: dict[str, str] = {}  # the first that a module itself runs; where its class begins is not in the file
    for node in exported.graph.nodes:
        for path, kind in (node.meta.get("nn_module_stack") or {}).values():
            if "_empty_nn_module_stack" not in path:
                found.setdefault(path, kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}")
        lines.setdefault(module_of(node), source_line(node))
    yield from (ModuleFact(path=path, cls=kind, place=lines.get(path, "")) for path, kind in sorted(found.items()))


def input_names(exported: ExportedProgram) -> tuple[str, ...]:
    """The names of the tensors that a program takes, in order."""
    import torch

    wanted = set(exported.graph_signature.user_inputs)
    nodes = [n for n in exported.graph.nodes if n.op == "placeholder" and n.name in wanted]
    return tuple(n.name for n in nodes if isinstance(n.meta.get("val"), torch.Tensor))


def output_facts(exported: ExportedProgram) -> tuple[OutputFact, ...]:
    """The leaves of what a program returns, with their names."""
    import torch.fx

    (output,) = (n for n in exported.graph.nodes if n.op == "output")
    leaves: list[Any] = list(output.args[0])
    facts: list[OutputFact] = []
    for path, leaf in zip(output_paths(exported), leaves, strict=True):
        name = "_".join(path)
        name = f"output_{name}" if not name or name[0].isdigit() else name
        is_tensor = isinstance(leaf, torch.fx.Node)
        facts.append(OutputFact(name=name.rstrip("_"), is_tensor=is_tensor, value=None if is_tensor else leaf))
    return tuple(facts)
