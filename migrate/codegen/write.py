"""The package on disk, written into a new folder. Knows nothing of the place where it goes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from migrate.codegen.plan import PackagePlan
from migrate.codegen.render import render_package
from migrate.codegen.weights_file import manifest, runtime_files, weights_json, write_weights


def write_package(
    plan: PackagePlan,
    out: Path | str,
    *,
    target: Mapping[str, Any],
    extra: Mapping[str, str | bytes] | None = None,
    weights: bool = True,
) -> Path:
    """Write a package.

    Args:
        plan: what to write.
        out: the folder, which must not exist.
        target: the resolved target profile, written as target.json.
        extra: further files, by path relative to the folder.
        weights: whether to store the weights (a check does not need them).

    Returns:
        The folder.

    Raises:
        FileExistsError: the folder exists.
    """
    folder = Path(out)
    folder.mkdir(parents=True)
    _fill(folder, plan, {**render_package(plan), **(extra or {})}, target, weights)
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


def _put(folder: Path, path: str, content: str | bytes) -> None:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
