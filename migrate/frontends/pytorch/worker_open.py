"""Opens a PyTorch source by its kind: a `.pt2` in this process, all that runs the user's code in a worker process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from migrate.errors import Diagnostic, Exit, MigrateError, error
from migrate.frontends.pytorch.files import require_trust
from migrate.frontends.pytorch.files_pt2 import load_pt2
from migrate.frontends.pytorch.program import Program
from migrate.frontends.pytorch.setup import TrainingSetup
from migrate.frontends.pytorch.worker_process import WorkerProcess, start

if TYPE_CHECKING:
    from torch import nn

Source = Literal["pt2", "torchscript", "pickle", "factory"]
_LOADERS = {"pickle": "factory:open_pickle", "torchscript": "torchscript:open_torchscript"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Example inputs as the user gave them: --input sizes and dtypes by name, and an .npz file."""

    shapes: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict[str, tuple[int | str, ...]])
    dtypes: Mapping[str, str] = field(default_factory=dict[str, str])
    file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedProgram:
    """A program, and where its module lives: in a worker process, in this one, or nowhere, since a `.pt2` is its own module."""

    program: Program
    module: nn.Module | None = None
    worker: WorkerProcess | None = None
    setup: TrainingSetup = field(default_factory=TrainingSetup)
    notes: tuple[Diagnostic, ...] = ()


def open_program(
    source: str | Path,
    kind: Source,
    *,
    examples: Examples,
    pythonpath: Sequence[Path] = (),
    seed: int = 0,
    trust_pickle: bool = False,
) -> OpenedProgram:
    """Read or build and export what the user named.

    Raises:
        MigrateError: exit status 3 for a source that cannot be read, is unsafe, or whose code fails; 4 for one that torch
            cannot export; 2 where example inputs are missing.
    """
    if kind == "pt2":
        from migrate.frontends.pytorch.export import program_of

        if examples.shapes or examples.file:
            what = error(
                "MIG130", "the inputs of an exported program are in the file", todo="leave out --input and --example"
            )
            raise MigrateError([what], Exit.USAGE)
        return OpenedProgram(program=program_of(load_pt2(Path(source))))
    if kind != "factory":
        require_trust(Path(source), trust_pickle)
    worker = start(pythonpath, seed)
    try:
        if kind == "factory":
            worker.ask("factory:open_factory", reference=str(source))
        else:
            worker.ask(_LOADERS[kind], path=str(Path(source).resolve()))
        return _exported(worker, examples)
    except BaseException:
        worker.close()
        raise


def _exported(worker: WorkerProcess, examples: Examples) -> OpenedProgram:
    from migrate.frontends.pytorch.worker_program import read_program, read_setup_of

    shapes = {name: (sizes, examples.dtypes.get(name)) for name, sizes in examples.shapes.items()}
    file = str(examples.file.resolve()) if examples.file else None
    worker.ask("worker_program:export", shapes=shapes, example=file)
    program = read_program(worker.folder)
    setup, notes = read_setup_of(worker.ask("worker_program:setup"), worker.folder)
    return OpenedProgram(program=program, worker=worker, setup=setup, notes=notes)
