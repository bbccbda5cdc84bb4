"""Checkpoints on disk: written by `torch.distributed.checkpoint` as host tensors, complete or not there at all.

Knows tensors by name, and nothing of what they mean. Layout of a checkpoint directory:

    step-00000010/  *.distcp .metadata   tensors
                    state.json           everything else, and the SHA-256 of .metadata
    latest                               name of the newest checkpoint
    weights.safetensors                  the model as the last run left it
    kernels.json                         verdicts on kernels, where the run proves them
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import shutil
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import save_file
from torch import Tensor
from torch.distributed.checkpoint.metadata import TensorStorageMetadata

from ..comm import World
from ..package import PackageError

SCHEMA = 2
LATEST = "latest"
STATE = "state.json"
METADATA = ".metadata"
WEIGHTS = "weights.safetensors"
KERNELS = "kernels.json"
_DAMAGED = (OSError, ValueError, EOFError, AttributeError, pickle.UnpicklingError)
_STEP = re.compile(r"step-(\d{8,})")


def _replace_text(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


@contextmanager
def _alone_is_fine() -> Generator[None]:
    """Silence the remark that one process alone saves or loads."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled")
        yield


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _checkpoints(root: Path) -> list[Path]:
    """The complete checkpoints of `root`, oldest first."""
    return sorted((p for p in root.glob("step-*") if _STEP.fullmatch(p.name)), key=lambda p: int(p.name[5:]))


def save(root: Path, step: int, tensors: dict[str, Tensor], state: Mapping[str, Any], world: World, keep: int) -> Path:
    """Write a checkpoint, point `latest` at it and drop all but the newest `keep`. Called by every process.

    Args:
        root: the checkpoint directory.
        step: the number of steps done.
        tensors: host tensors; each name belongs to one process.
        state: JSON values; the first process's are written.
        world: the processes that take part.
        keep: how many checkpoints stay.
    """
    final = root / f"step-{step:08d}"
    temporary = root / f"{final.name}.tmp"
    if world.is_main:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
    world.barrier()
    try:
        with _alone_is_fine():
            dcp.save(
                cast("dict[str, Any]", tensors),
                storage_writer=dcp.FileSystemWriter(temporary),
                no_dist=not world.is_distributed,
            )
    # CheckpointException is a BaseException
    except (OSError, RuntimeError, dcp.api.CheckpointException) as error:
        raise PackageError(f"checkpoint {final} cannot be written: {error}", status=1) from error
    world.barrier()
    if world.is_main:
        about = {"schema": SCHEMA, "step": step, "metadata_sha256": _digest(temporary / METADATA)}
        _replace_text(temporary / STATE, json.dumps({**about, **state}, indent=1))
        shutil.rmtree(final, ignore_errors=True)
        temporary.replace(final)
        _replace_text(root / LATEST, final.name + "\n")
        for old in _checkpoints(root)[:-keep]:
            shutil.rmtree(old)
    return final


def find(root: Path, resume: str) -> Path | None:
    """The checkpoint that `--resume auto` (None where there is none yet) or `--resume DIR` means.

    `DIR` is a checkpoint, or a checkpoint directory, of which the latest is taken.

    Raises:
        PackageError: `DIR` holds no checkpoint, or `latest` names one that is gone.
    """
    directory = root if resume == "auto" else Path(resume)
    if (directory / STATE).is_file():
        return directory
    if not (directory / LATEST).is_file():
        if resume == "auto":
            return None
        raise PackageError(f"--resume {resume}: no checkpoint there; give a folder with {STATE} or {LATEST} in it")
    found = directory / (directory / LATEST).read_text(encoding="utf-8").strip()
    if not (found / STATE).is_file():
        raise PackageError(f"{directory / LATEST} names {found.name}, which is not there; write another name into it")
    return found


def load(checkpoint: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors, onto the host, and the state of one checkpoint.

    Raises:
        PackageError: the checkpoint is damaged or of another schema.
    """
    try:
        state: dict[str, Any] = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
        if state.get("schema") != SCHEMA:
            raise PackageError(
                f"{checkpoint} has schema {state.get('schema')!r}; this package reads {SCHEMA}", status=3
            )
        # reading it unpickles, and unpickling runs whatever was written there
        if _digest(checkpoint / METADATA) != state.get("metadata_sha256"):
            raise PackageError(
                f"checkpoint {checkpoint}: {METADATA} is not the file that was saved; resume from another", status=3
            )
        stored = dcp.FileSystemReader(checkpoint).read_metadata().state_dict_metadata
        tensors = {
            name: torch.empty(facts.size, dtype=facts.properties.dtype)
            for name, facts in stored.items()
            if isinstance(facts, TensorStorageMetadata)
        }
        with _alone_is_fine():
            dcp.load(cast("dict[str, Any]", tensors), storage_reader=dcp.FileSystemReader(checkpoint), no_dist=True)
    # CheckpointException is a BaseException
    except (*_DAMAGED, dcp.api.CheckpointException) as error:
        raise PackageError(f"checkpoint {checkpoint} cannot be read: {error}; resume from another", status=3) from error
    return tensors, state


def set_aside(root: Path) -> Path | None:
    """Move an earlier run's checkpoints into `earlier-N`: a fresh run neither mixes with them nor loses them."""
    if not (root / LATEST).exists():
        return None
    number = 1 + sum(1 for _ in root.glob("earlier-*"))
    aside = root / f"earlier-{number}"
    aside.mkdir()
    for path in [*_checkpoints(root), root / WEIGHTS, root / KERNELS, root / LATEST]:
        if path.exists():
            path.rename(aside / path.name)
    return aside


def save_weights(root: Path, tensors: Mapping[str, Tensor]) -> Path:
    """Write `weights.safetensors`: equal tensors give equal bytes."""
    root.mkdir(parents=True, exist_ok=True)
    temporary = root / f"{WEIGHTS}.tmp"
    # cloned, because the format refuses tensors that share memory, as tied ones do
    save_file({name: tensor.contiguous().clone() for name, tensor in tensors.items()}, temporary)
    return temporary.replace(root / WEIGHTS)
