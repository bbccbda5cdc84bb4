"""Hands a `Program` and a `TrainingSetup` from the worker process to its parent, as files of a folder."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from migrate.errors import Diagnostic, MigrateError
from migrate.frontends.pytorch.attention_module import operator as known_attention
from migrate.frontends.pytorch.files_pt2 import load_pt2
from migrate.frontends.pytorch.program import ModuleFact, OutputFact, Program, SizeFact, StateFact
from migrate.frontends.pytorch.setup import TrainingSetup, setup_from_dict
from migrate.frontends.pytorch.structure import forget_classes
from migrate.frontends.pytorch.worker import Session

_FORMS = ("evaluation", "training")


def export(session: Session, folder: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    """Task: export the session's module with its example inputs, and write what came of it into the folder."""
    from migrate.frontends.pytorch.example import example_call
    from migrate.frontends.pytorch.export import export_module
    from migrate.frontends.pytorch.factory import users_code
    from migrate.frontends.pytorch.sizes import names_of
    from migrate.frontends.pytorch.torchscript import fault_in_script, has_one_mode

    session.inputs = example_call(session.module, session.inputs, arguments["shapes"], arguments["example"])
    logging.disable(logging.ERROR)  # torch logs what it raises as well
    try:
        with users_code("the module cannot be exported", "MIG126"):
            names = names_of({name: sizes for name, (sizes, _) in arguments["shapes"].items()})
            program = export_module(session.module, session.inputs, names)
    except MigrateError as fault:
        if (found := fault_in_script(fault)) is not None:
            raise MigrateError([found], fault.status) from fault
        raise
    finally:
        logging.disable(logging.NOTSET)
    write_program(replace(program, training=None) if has_one_mode(session.module) else program, folder)
    return {}


def setup(session: Session, folder: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    """Task: the training objects of the session as facts, and its batch as a file."""
    from migrate.frontends.pytorch.factory_setup import read_setup

    del arguments
    found, notes = read_setup(session.module, session.training)
    write_tensors(found.batch, folder / "batch.safetensors")
    facts = asdict(TrainingSetup(optimizer=found.optimizer, scheduler=found.scheduler, loss=found.loss))
    return {"setup": facts, "notes": [asdict(note) for note in notes]}


def write_program(program: Program, folder: Path) -> None:
    """Write the programs and the facts."""
    import torch

    for form in _FORMS:
        exported = getattr(program, form)
        if exported is not None:
            forget_classes(exported)
            torch.export.save(exported, folder / f"{form}.pt2")
    facts = {
        "state": [asdict(fact) for fact in program.state],
        "modules": [asdict(fact) for fact in program.modules],
        "input_names": program.input_names,
        "outputs": [asdict(fact) for fact in program.outputs],
        "declared_batch": program.declared_batch,
        "notes": [asdict(note) for note in program.notes],
        "sizes": [asdict(size) for size in program.sizes],
    }
    (folder / "program.json").write_text(json.dumps(facts), encoding="utf-8")


def read_program(folder: Path) -> Program:
    """What `write_program` wrote; its files are removed, since the weights are in memory then."""
    known_attention()
    facts = json.loads((folder / "program.json").read_text(encoding="utf-8"))
    paths = {form: folder / f"{form}.pt2" for form in _FORMS}
    programs = {form: load_pt2(path) if path.exists() else None for form, path in paths.items()}
    for path in paths.values():
        path.unlink(missing_ok=True)
    evaluation = programs["evaluation"]
    assert evaluation is not None
    return Program(
        evaluation=evaluation,
        training=programs["training"],
        state=tuple(StateFact(**fact | {"shape": tuple(fact["shape"])}) for fact in facts["state"]),
        modules=tuple(ModuleFact(**fact) for fact in facts["modules"]),
        input_names=tuple(facts["input_names"]),
        outputs=tuple(OutputFact(**fact) for fact in facts["outputs"]),
        declared_batch=facts["declared_batch"],
        notes=tuple(Diagnostic(**note) for note in facts["notes"]),
        sizes=tuple(_size(fact) for fact in facts["sizes"]),
    )


def _size(fact: dict[str, Any]) -> SizeFact:
    samples: Any = tuple((a, b, c) for a, b, c in fact["samples"])
    return SizeFact(**fact | {"samples": samples})


def read_setup_of(document: Mapping[str, Any], folder: Path) -> tuple[TrainingSetup, tuple[Diagnostic, ...]]:
    """What the task `setup` answered."""
    batch = read_tensors(folder / "batch.safetensors")
    return setup_from_dict(document["setup"], batch), tuple(Diagnostic(**note) for note in document["notes"])


def write_tensors(tensors: Mapping[str, Any], path: Path) -> None:
    """Tensors by name, as a safetensors file."""
    from safetensors.torch import save_file

    save_file({name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}, path)


def read_tensors(path: Path) -> dict[str, Any]:
    """What `write_tensors` wrote."""
    from safetensors.torch import load_file

    return load_file(path)
