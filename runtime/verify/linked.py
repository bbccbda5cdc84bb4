"""Compares a package's runtime with its manifest: what a user changed in it since conversion. Fails nothing."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from .outcome import Check

NAME = "runtime as linked"
MANIFEST = "manifest.json"
_SHOWN = 5


def _digest(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def check_linked(runtime: Path) -> Check | None:
    """Whether each file that the manifest names is as it was written; None where there is no manifest.

    Informative: the runtime is the user's to edit, and the other checks say whether it still computes the same.
    """
    if not (runtime / MANIFEST).is_file():
        return None
    try:
        files: dict[str, str] = json.loads((runtime / MANIFEST).read_text(encoding="utf-8"))["files"]
        changed = [path for path, sha256 in files.items() if _digest(runtime / path) != sha256]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return Check(name=NAME, passed=False, informative=True, detail=f"{MANIFEST} cannot be read: {error}")
    more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    detail = f"changed: {', '.join(changed[:_SHOWN])}{more}" if changed else f"{len(files)} files"
    return Check(name=NAME, passed=not changed, informative=True, detail=detail)
