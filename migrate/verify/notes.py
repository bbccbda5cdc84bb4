"""What a verification says in words: that parity failed, and what was left out. Compares nothing."""

from __future__ import annotations

from collections.abc import Iterable

from migrate.errors import Diagnostic, error
from migrate.verify.facts import Layer, Row


def parity(rows: Iterable[Row], layer: Layer | None) -> Diagnostic:
    """That the package is not the source, by the first check that failed."""
    failed = [row for row in rows if row.decides and not row.passed]
    first = failed[0]
    off = "" if first.error is None else f", off by {first.error:.1e}, tolerance {first.tolerance:.0e}"
    where = ""
    if layer is not None:
        source = f" (source: {', '.join(layer.nodes)})" if layer.nodes else ""
        amount = "" if layer.error is None else f", off by {layer.error:.1e}"
        where = f"{layer.module}{source}, {layer.what}{amount}"
    return error(
        "MIG501",
        "the package does not compute what the source computes",
        where=where,
        why=f"{len(failed)} checks failed, the first: {first.check}{off}{': ' + first.detail if first.detail else ''}",
        todo="the package is kept and marked UNVERIFIED; do not train it before the layer is understood",
    )


def not_located() -> Diagnostic:
    """That a wrong gradient was not traced for its cost."""
    return Diagnostic(
        code="MIG506",
        severity="note",
        what="the parameter whose gradient is wrong was not looked for",
        why="every parameter is tried by itself, and this model is costly to run",
    )


def no_differences() -> Diagnostic:
    """That supporting evidence was left out for its cost."""
    return Diagnostic(
        code="MIG506",
        severity="note",
        what="differences of the source in float32 were not taken",
        why="they are supporting evidence, and this model is costly to run",
    )
