"""The package on disk: written beside its place and renamed, so that a failed run leaves nothing behind."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from migrate.codegen.plan import PackagePlan
from migrate.codegen.render import render_package
from migrate.codegen.weights_file import manifest, runtime_files, weights_json, write_weights
from migrate.errors import Exit, MigrateError, error

KEPT = "local"  # the user's own


def write_package(
    plan: PackagePlan,
    out: Path | str,
    *,
    target: Mapping[str, Any],
    overwrite: bool = False,
    extra: Mapping[str, str | bytes] | None = None,
    weights: bool = True,
) -> Path:
    """Write a package.

    Args:
        plan: what to write.
        out: the folder; it appears when everything is in it.
        target: the resolved target profile, written as target.json.
        overwrite: replace an existing folder, all but its `local/`.
        extra: further files, by path relative to the folder.
        weights: whether to store the weights (a check does not need them).

    Returns:
        The folder.

    Raises:
        MigrateError: the folder exists and may not be replaced.
    """
    folder = Path(out)
    if folder.exists() and not overwrite:
        what = error("MIG107", "the folder exists", where=str(out), todo="--overwrite replaces all but its local/")
        raise MigrateError([what], Exit.USAGE)
    texts = render_package(plan)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".migrate-", dir=folder.parent) as stage:
        staged = Path(stage) / "package"
        _fill(staged, plan, {**texts, **(extra or {})}, target, weights)
        install(staged, folder, overwrite=overwrite)
    return folder


def _fill(
    staged: Path, plan: PackagePlan, texts: Mapping[str, str | bytes], target: Mapping[str, Any], weights: bool
) -> None:
    for path, text in texts.items():
        _put(staged, path, text)
    inner = staged / plan.name
    _put(inner, "target.json", json.dumps(target, indent=1) + "\n")
    _put(inner, "weights.json", weights_json(plan))
    if weights:
        write_weights(plan, inner)
    linked = dict(runtime_files())
    for path, data in linked.items():
        _put(inner / "runtime", path, data)
    _put(inner / "runtime", "manifest.json", manifest(linked))


def install(staged: Path, folder: Path, *, overwrite: bool) -> None:
    """Put a finished folder in its place by renaming; both must be on one file system.

    Raises:
        MigrateError: the place is taken and `overwrite` is off.
    """
    if not folder.exists():
        staged.chmod(0o755)
        staged.rename(folder)
        return
    if not overwrite or not folder.is_dir():
        what = error("MIG107", "the folder exists", where=str(folder), todo="--overwrite replaces all but its local/")
        raise MigrateError([what], Exit.USAGE)
    with tempfile.TemporaryDirectory(prefix=".migrate-old-", dir=folder.parent) as aside:
        old = Path(aside) / "old"
        _keep_local(folder, staged)
        folder.rename(old)
        try:
            staged.rename(folder)
        except OSError:
            old.rename(folder)
            raise


def _keep_local(folder: Path, staged: Path) -> None:
    kept = folder / KEPT
    if kept.is_dir():
        shutil.rmtree(staged / KEPT, ignore_errors=True)
        shutil.copytree(kept, staged / KEPT, symlinks=True)


def _put(folder: Path, path: str, content: str | bytes) -> None:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
