"""A verdict on one implementation for one class of calls, its JSON form and its text. Measures nothing."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .request import Request

SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was found, with the evidence.

    Attributes:
        request: the class of calls it speaks for.
        implementation: e.g. `cpu/adamw`.
        chosen: it was the fastest of those that are right and faster than the reference.
        reason: one line for people.
        error: its largest difference from the float64 reference, relative to the largest value; None if it did not run.
        reference_error: the same of the reference in the call's own dtype.
        speedup: reference time over its time, the median of the repeats; None if it was not timed.
        slowest: the least of the repeats' ratios.
        fastest: the largest of them.
        machine: where it was measured; it holds nowhere else.
        source: hash of the implementation's text; it holds for no other.
    """

    request: Request
    implementation: str
    chosen: bool
    reason: str
    error: float | None = None
    reference_error: float | None = None
    speedup: float | None = None
    slowest: float | None = None
    fastest: float | None = None
    machine: str = ""
    source: str = ""


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


def _from_json(fields: dict[str, Any]) -> Verdict:
    request = Request(**{key: _tuples(value) for key, value in fields.pop("request").items()})
    return Verdict(request=request, **fields)


def write(path: Path, verdicts: Iterable[Verdict]) -> None:
    """Write all verdicts as JSON, through a temporary file so that a reader never sees half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"schema": SCHEMA, "verdicts": [dataclasses.asdict(v) for v in verdicts]}
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.write_text(json.dumps(document, indent=1) + "\n")
    partial.replace(path)


def read(path: Path) -> list[Verdict]:
    """Read what `write` wrote; raises `ValueError` for another schema."""
    document = json.loads(path.read_text())
    if document.get("schema") != SCHEMA:
        raise ValueError(f"{path}: schema is {document.get('schema')!r}, expected {SCHEMA}")
    return [_from_json(fields) for fields in document["verdicts"]]


def _line(verdict: Verdict) -> tuple[str, ...]:
    speed = "-" if verdict.speedup is None else f"{verdict.speedup:.2f}x ({verdict.slowest:.2f}-{verdict.fastest:.2f})"
    error = "-" if verdict.error is None else f"{verdict.error:.1e}/{verdict.reference_error:.1e}"
    mark = "chosen" if verdict.chosen else "no"
    return verdict.request.kernel, verdict.implementation, mark, speed, error, verdict.request.text, verdict.reason


def table(verdicts: Iterable[Verdict]) -> str:
    """The verdicts as aligned text: what was chosen, how much faster, how wrong (error / the reference's), and why."""
    rows = [
        ("kernel", "implementation", "use", "speed-up", "error/reference", "calls", "reason"),
        *map(_line, verdicts),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)
