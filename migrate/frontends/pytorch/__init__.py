"""The PyTorch frontend: a module or an exported program becomes the common graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from migrate.errors import Exit, MigrateError
from migrate.graph import Graph

if TYPE_CHECKING:
    from migrate.frontends.pytorch.description import describe_program
    from migrate.frontends.pytorch.export import export_module, program_of
    from migrate.frontends.pytorch.program import Program

__all__ = ["describe_program", "export_module", "load_pytorch", "program_of"]


def __getattr__(name: str) -> Any:
    if name in ("export_module", "program_of"):
        from migrate.frontends.pytorch import export

        return getattr(export, name)
    if name == "describe_program":
        from migrate.frontends.pytorch.description import describe_program

        return describe_program
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_pytorch(program: Program) -> Graph:
    """Read an exported program into the common graph.

    Raises:
        MigrateError: exit status 4 for constructs that are not supported, all of them listed.
    """
    from migrate.frontends.pytorch.handlers import unsupported
    from migrate.frontends.pytorch.importer import attempt
    from migrate.frontends.pytorch.inputs import candidates
    from migrate.frontends.pytorch.notes import without_batch
    from migrate.graph.batch import check_batch

    missing = unsupported(program)
    if missing:
        raise MigrateError(missing, Exit.UNSUPPORTED)
    first: MigrateError | None = None
    for again in (False, True)[: 1 + (program.declared_batch > 1)]:
        for samples in candidates(program):
            try:
                graph = attempt(program, samples, again)
            except MigrateError as fault:
                first = first or fault
                if fault.diagnostics[0].code not in ("MIG304", "MIG305"):
                    raise
                continue
            graph.notes += program.notes
            return check_batch(graph)
    assert first is not None
    raise without_batch(program) or first
