"""Finds the reference of each kernel and the implementations that shadow it by name. Decides nothing.

`reference/<kernel>.py` is the meaning. Candidates for a device of type T are `T/<kernel>.py`, `vendor/T/<kernel>.py`,
`triton/<kernel>.py` and `portable/<kernel>.py`; each defines a function with the kernel's name and the reference's
parameters, and may define `unavailable(device) -> str | None`, the reason why it cannot run there, and `SOURCES`,
further files it is made of.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

ROOT = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Implementation:
    """A candidate: `name` is its path without suffix, `source` hashes its text, `problem` is why it cannot run, or None."""

    name: str
    run: Callable[..., Any]
    source: str
    problem: str | None = None


def module(name: str) -> ModuleType:
    """Import `reference/gelu` and the like."""
    return importlib.import_module("." + name.replace("/", "."), __package__)


def _references() -> dict[str, Callable[..., Any]]:
    names = sorted(path.stem for path in (ROOT / "reference").glob("[a-z]*.py"))
    return {name: getattr(module(f"reference/{name}"), name) for name in names}


REFERENCE = _references()


def _source(name: str, loaded: ModuleType | None) -> str:
    files = [ROOT / f"{name}.py", *(getattr(loaded, "SOURCES", ()))]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:16]


def _refuse(*_: Any) -> Any:
    raise RuntimeError("an implementation that is not available was called")


def load(name: str, device: torch.device) -> Implementation:
    """Import the candidate `name`, e.g. `cpu/adamw`; a missing library or device is its `problem`, not an error."""
    try:
        loaded = module(name)
    except (ImportError, OSError) as error:
        return Implementation(name=name, run=_refuse, source=_source(name, None), problem=f"not importable: {error}")
    unavailable = getattr(loaded, "unavailable", None)
    return Implementation(
        name=name,
        run=getattr(loaded, name.rpartition("/")[2]),
        source=_source(name, loaded),
        problem=unavailable(device) if unavailable else None,
    )


def candidates(kernel: str, device: torch.device) -> list[Implementation]:
    """All implementations of `kernel` that a device of this type may use, available or not, by folder."""
    folders = (device.type, f"vendor/{device.type}", "triton", "portable")
    return [load(f"{folder}/{kernel}", device) for folder in folders if (ROOT / folder / f"{kernel}.py").is_file()]
