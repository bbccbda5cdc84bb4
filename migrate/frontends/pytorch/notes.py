"""What the user is told of a program that is read: outputs that are left out, the node at which it cannot be read."""

from __future__ import annotations

from typing import Any

from migrate.errors import Diagnostic, Exit, MigrateError, error
from migrate.frontends.pytorch.compare import Comparison
from migrate.frontends.pytorch.nodes import short_name
from migrate.frontends.pytorch.places import line_of, module_of
from migrate.frontends.pytorch.program import Program


def only_in_training(comparison: Comparison, place: int) -> Diagnostic:
    """An output that evaluation does not return."""
    name, modules = comparison.left_out[place], ", ".join(_outermost(comparison))
    return Diagnostic(
        code="MIG324",
        severity="warning",
        what=f"output {name} of training is left out",
        where=modules,
        why="evaluation does not return it, and a package returns the same in both modes",
        todo="the modules behind it are kept, with their keys; return it in evaluation as well to train on it",
    )


def _outermost(comparison: Comparison) -> list[str]:
    """The modules that only lead to outputs of training, without those that are part of another such."""
    busy = [(*module_of(node).split("."), "") for node in comparison.arguments]
    found: set[str] = set()
    for path in (module.split(".") for module in comparison.idle):
        lengths = range(1, len(path) + 1)
        found.add(".".join(next(path[:k] for k in lengths if not any(list(b[:k]) == path[:k] for b in busy))))
    return sorted(found)


def no_tensor(name: str, why: str) -> Diagnostic:
    """An output that is no tensor."""
    return Diagnostic(code="MIG321", severity="note", what=f"output {name!r} is left out", why=why)


def without_batch(program: Program) -> MigrateError | None:
    """That the only axis of an input was taken for the batch, where the model fixes it."""
    wanted = [n for n in program.evaluation.graph.nodes if n.op == "placeholder" and n.name in program.input_names]
    fixed = [n for n in wanted if list(n.meta["val"].shape) == [program.declared_batch]]
    if program.declared_batch == 1 or not fixed:
        return None
    name, size = fixed[0].name, program.declared_batch
    found = error(
        "MIG304",
        f"input {name} has no batch",
        why=f"its only axis, of {size}, would be the batch, and the model fixes it",
        todo=f"give inputs with a batch in front: {name}:2,{size}",
    )
    return MigrateError([found], Exit.UNSUPPORTED)


def failed(code: str, what: str, node: Any, why: str, todo: str = "") -> MigrateError:
    """The program cannot be read at a node."""
    operator_name = f"{short_name(node)}: " if node is not None and node.op == "call_function" else ""
    where = line_of(node) if node is not None else ""
    return MigrateError([error(code, f"{operator_name}{what}", where=where, why=why, todo=todo)], Exit.UNSUPPORTED)


def no_loop(why: str) -> Diagnostic:
    """That the user's own training could not be repeated."""
    return Diagnostic(
        code="MIG509",
        severity="note",
        what="the losses of the source's own training were not compared",
        why=why,
        todo="return batch = (inputs, targets) that the module and the loss take, beside the optimizer",
    )
