"""The report as one JSON document, for scripts. Its form is `schema/report.schema.json`; knows no other renderer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from reports.facts import Report

SCHEMA_VERSION = 2  # raised when a field changes its meaning or goes; a new field keeps it
SCHEMA_PATH = Path(__file__).with_name("schema") / "report.schema.json"


def _plain(value: Any) -> Any:
    """Dataclasses to objects in field order, tuples to lists; a float that JSON cannot say becomes its name."""
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(value[key]) for key in sorted(value)}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def to_dict(report: Report) -> dict[str, Any]:
    """The report as plain objects, with `schema_version` first."""
    return {"schema_version": SCHEMA_VERSION, **_plain(report)}


def render_json(*reports: Report) -> str:
    """The report, or the list of several, as ASCII JSON text that ends in a newline."""
    documents = [to_dict(report) for report in reports]
    return json.dumps(documents[0] if len(documents) == 1 else documents, indent=2, allow_nan=False) + "\n"
