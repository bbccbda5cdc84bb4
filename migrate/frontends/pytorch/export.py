"""Exporting a module, in evaluation and in training form, at the level of operators at which training is still visible.

The module is left as it was found: mode, parameters and random state. Knows torch.export; no graph is built here.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from typing import TYPE_CHECKING, Any

from migrate.errors import Exit, MigrateError, error
from migrate.frontends.pytorch.attention_module import kept_whole
from migrate.frontends.pytorch.custom_gradients import check_gradients
from migrate.frontends.pytorch.facts import (
    input_names,
    modules_of,
    modules_of_program,
    output_facts,
    state_of,
    state_of_program,
)
from migrate.frontends.pytorch.files_pt2_checks import QUOTING
from migrate.frontends.pytorch.nodes import inner_graphs
from migrate.frontends.pytorch.program import Program
from migrate.frontends.pytorch.refusal import refused, users_line
from migrate.frontends.pytorch.sizes import (
    Names,
    expression_of,
    fixed_places,
    fixed_sizes,
    input_nodes,
    named_tensors,
    size_facts,
)
from migrate.frontends.pytorch.tracing import assigned_in_place, give_something

if TYPE_CHECKING:
    import torch
    from torch import nn
    from torch.export import ExportedProgram

BATCHES = (3, 5, 7, 11, 13)
"""What an example's batch is made, where it is 1 or equals another of its sizes: torch takes a size of 1 to be fixed."""


def export_module(
    module: nn.Module,
    example_inputs: tuple[Any, ...] | Mapping[str, Any] | torch.Tensor,
    names: Mapping[tuple[str, int], str] | None = None,
) -> Program:
    """Export a module with example inputs: positional (a tuple, or one tensor) or by name (a mapping).

    `names` are sizes that stay free beyond the batch, by input and axis. What cannot is told by a warning.

    Raises:
        MigrateError: exit status 4, MIG204: torch cannot export it, MIG330: its gradients are not those of its operators; the
            user's file and line are in the diagnostic. MIG329: a name that cannot be one of a file.
    """
    _check_names(module)
    args, kwargs = call_of(example_inputs)
    free = dict(names or {})
    places: dict[str, str] = {}
    with _as_found(module), fixed_places(places):
        module.eval()
        args, kwargs, batch = _with_batch(module, args, kwargs)
        evaluation, declared = _exported(module, args, kwargs, batch, free, places)
        module.train()
        training, _ = _exported(module, args, kwargs, batch if declared == 1 else None, free, {})
        notes = check_gradients(module, lambda: module(*args, **kwargs))
    sizes = size_facts(evaluation, free)
    return Program(
        evaluation=evaluation,
        training=training,
        state=tuple(state_of(module)),
        modules=tuple(modules_of(module)),
        input_names=input_names(evaluation),
        outputs=output_facts(evaluation),
        declared_batch=declared,
        notes=(*notes, *fixed_sizes(evaluation, free, sizes, places)),
        sizes=tuple(size for size in sizes if size.samples),
    )


def _check_names(module: nn.Module) -> None:
    """Refuse names that could end a quoted text: a program is handed on as a file, which is read as one of unknown origin."""
    wrong = [key for key in module.state_dict() if QUOTING.search(key)]
    if wrong:
        todo = "name the module with letters, digits, blanks and dashes"
        names = [
            error("MIG329", f"{key!r} cannot be the name of a tensor", why="it holds a quote", todo=todo)
            for key in wrong
        ]
        raise MigrateError(names, Exit.UNSUPPORTED)


def program_of(exported: ExportedProgram) -> Program:
    """An exported program as it is; whether it was exported for evaluation or for training is not known."""
    names = input_names(exported)
    return Program(
        evaluation=exported,
        training=None,
        state=tuple(state_of_program(exported)),
        modules=tuple(modules_of_program(exported)),
        input_names=names,
        outputs=output_facts(exported),
        declared_batch=_baked_batch(exported, names),
    )


def call_of(example: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Example inputs as positional arguments and arguments by name."""
    if isinstance(example, Mapping):
        return (), {str(name): value for name, value in example.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return (tuple(example), {}) if isinstance(example, tuple | list) else ((example,), {})  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


@contextmanager
def _as_found(module: nn.Module) -> Generator[None]:
    """Put back modes, random state, buffers and the switch of attention's inference path."""
    import torch

    modes = {m: m.training for m in module.modules()}
    disabled = logging.root.manager.disable
    fast = torch.backends.mha.get_fastpath_enabled()
    buffers = {b: b.clone() for b in module.buffers()}
    try:
        torch.backends.mha.set_fastpath_enabled(False)  # its fused operator hides the layers
        logging.disable(logging.WARNING)  # torch prints its graphs; what matters of them is in the diagnostic
        with torch.random.fork_rng(), warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
        torch.backends.mha.set_fastpath_enabled(fast)
        for each, mode in modes.items():
            each.training = mode
        with torch.no_grad():
            for buffer, content in buffers.items():
                buffer.copy_(content)


# ---- the batch


def _tensors(tree: Any) -> list[torch.Tensor]:
    import torch
    from torch.utils import _pytree as pytree

    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _with_batch(
    module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], int | None]:
    """The example with a batch that is not 1 and is no other size of it, and that batch; None where there is none."""
    import torch
    from torch.utils import _pytree as pytree

    tensors = [t for t in _tensors((args, kwargs)) if t.dim()]
    if not tensors:
        return args, kwargs, None
    batch = tensors[0].shape[0]
    others = {size for t in tensors for axis, size in enumerate(t.shape) if axis or size != batch}
    if batch != 1 and batch not in others:
        return args, kwargs, batch
    wanted = next(n for n in (*BATCHES, max(others) + 1) if n not in others)

    def again(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or not leaf.dim() or leaf.shape[0] != batch:
            return leaf
        return leaf[[k % batch for k in range(wanted)]].clone()

    made = pytree.tree_map(again, (args, kwargs))
    try:
        with torch.no_grad():
            module(*made[0], **made[1])
    except Exception:  # whatever the module raises: it is not made for another batch
        return args, kwargs, batch
    return made[0], made[1], wanted


def _exported(
    module: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    batch: int | None,
    names: Names,
    places: dict[str, str],
) -> tuple[ExportedProgram, int]:
    """The program with a free batch, and 1; where that cannot be, with a fixed one, and its size.

    Sizes with names are free where that can be; the batch goes before. `places` is given the line that forbids them.
    """
    *tries, last = dict.fromkeys((b, tuple(n)) for b in (batch, None) for n in (names, ()))
    for free, named in tries:
        try:
            found = _export(module, args, kwargs, free, named)
        except Exception as fault:  # refused or failed with free sizes: the fixed ones tell whose fault it is
            places.setdefault("", users_line(fault))
            continue
        if free is None or _has_batch(found):
            return found, 1 if free is not None else batch or 1
    try:
        fixed = _export(module, args, kwargs, *last)
    except Exception as fault:
        raise MigrateError([refused(module, fault, args, kwargs)], Exit.UNSUPPORTED) from fault
    return fixed, batch or 1


def _export(
    module: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    batch: int | None,
    names: Sequence[tuple[str, int]],
) -> ExportedProgram:
    import torch

    shapes = None
    if batch is not None or names:
        named = named_tensors(module, args, kwargs) if names else {}
        free = torch.export.ShapesCollection()
        for tensor in _tensors((args, kwargs)):
            axes = [axis for name, axis in names if named.get(name) is tensor]
            axes += [0] if tensor.dim() and tensor.shape[0] == batch else []
            if axes:
                free[tensor] = dict.fromkeys(axes, torch.export.Dim.AUTO)
        shapes = free.dynamic_shapes(module, args, kwargs)
    with assigned_in_place(), kept_whole():
        exported = torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=False)
    for node in exported.graph.nodes:
        if node.op == "call_function" and not node.users and (inner := inner_graphs(node)):
            give_something(node, inner[0])
    return exported


def _has_batch(exported: ExportedProgram) -> bool:
    """Whether the first axis of an input is free, or there is none to be a batch."""
    shapes = [node.meta["val"].shape for node in input_nodes(exported)]
    return any(expression_of(shape[0]).free_symbols for shape in shapes if len(shape))


def _baked_batch(exported: ExportedProgram, names: Sequence[str]) -> int:
    """1 where a size of an input is free or there is no first axis to be a batch; else the size of the first."""
    shapes = [
        node.meta["val"].shape for node in exported.graph.nodes if node.op == "placeholder" and node.name in names
    ]
    sizes = [size for shape in shapes for size in shape if not isinstance(size, int)]
    if any(size.node.expr.free_symbols for size in sizes):  # export leaves a symbol whose value it has fixed
        return 1
    return next((int(shape[0]) for shape in shapes if len(shape)), 1)
