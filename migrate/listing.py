"""What `migrate targets` and `migrate ops` print. Knows the registries, not the flow."""

from __future__ import annotations

import json as _json
from typing import Any

from migrate.errors import Exit, MigrateError, error


def targets(name: str | None, *, json: bool) -> str:
    """Every target in a line, or one in full with the source of each figure."""
    from migrate.opmap import list_targets, load_target

    if name is None:
        found = [load_target(each) for each in list_targets()]
        if json:
            return _dump([{"name": t.name, "title": t.title, "kind": t.kind} for t in found])
        return "\n".join(f"{t.name:<18} {t.kind:<10} {t.title}" for t in found)
    target = load_target(name)
    figures = {key: (f.stated, f.source, f.verified) for key, f in target.figures().items()}
    if json:
        return _dump({"name": target.name, "title": target.title, "kind": target.kind, "figures": figures})
    lines = [f"{target.name}: {target.title} ({target.kind})", f"dtypes: {', '.join(target.dtypes)}"]
    for key, (value, source, verified) in figures.items():
        number = "unknown" if value is None else f"{value:.4g}"
        origin = "" if value is None else "measured: " if verified else "stated: "
        lines.append(f"{key:<34} {number:>12}  {origin}{source}")
    return "\n".join(lines)


def target_ops(name: str, *, json: bool) -> str:
    """The ATen operators that a target has kernels for."""
    from migrate.opmap import load_target, resolve

    operators = resolve(load_target(name))["operators"]
    if json:
        return _dump(operators)
    return "\n".join(f"{operator:<48} {state}" for state in ("native", "composite") for operator in operators[state])


def frontend_ops(frontend: str, *, json: bool) -> str:
    """The operators that a frontend reads, with the schema version from which each handler holds."""
    rows = _frontend_rows(frontend)
    if json:
        return _dump(rows)
    return "\n".join(f"{row['operator']:<32} since {row['since']:<3} {row['family']}" for row in rows)


def _frontend_rows(frontend: str) -> list[dict[str, Any]]:
    if frontend not in FRONTENDS:
        todo = f"the frontends are: {', '.join(FRONTENDS)}"
        raise MigrateError([error("MIG116", f"there is no frontend {frontend!r}", todo=todo)], Exit.USAGE)
    return FRONTENDS[frontend]()


def _onnx() -> list[dict[str, Any]]:
    from migrate.frontends.onnx.registry import entries

    return [
        {"operator": f"{e.domain}::{e.op_type}".lstrip(":"), "since": e.since, "family": e.family} for e in entries()
    ]


def _keras() -> list[dict[str, Any]]:
    from migrate.frontends.keras.registry import entries

    return [{"operator": e.cls, "since": 1, "family": e.family} for e in entries()]


def _tensorflow() -> list[dict[str, Any]]:
    from migrate.frontends.tensorflow.registry import entries

    return [{"operator": e.op, "since": 1, "family": e.family} for e in entries() if not e.op.startswith("_")]


FRONTENDS = {"onnx": _onnx, "keras": _keras, "tensorflow": _tensorflow}
"""Those whose operators are a list of their own; PyTorch's are the ops of the graph and more."""


def _dump(value: Any) -> str:
    return _json.dumps(value, indent=1, sort_keys=True)
