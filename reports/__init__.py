"""The report of a run: its facts as data, and one renderer each for JSON, Markdown, HTML and the terminal.

The public door. Knows nothing of how the facts came about; it only tells them.
"""

from __future__ import annotations

from reports.facts import (
    Change,
    Inventory,
    MappingRow,
    ParityRow,
    Prediction,
    Recomputation,
    Report,
    Share,
    SourceFacts,
    TargetFacts,
    TensorFacts,
    Unverified,
    Verdict,
    Weight,
)
from reports.render_comparison import print_comparison
from reports.render_html import render_html
from reports.render_json import SCHEMA_PATH, SCHEMA_VERSION, render_json, to_dict
from reports.render_markdown import render_markdown
from reports.render_text import print_report

__all__ = [
    "SCHEMA_PATH",
    "SCHEMA_VERSION",
    "Change",
    "Inventory",
    "MappingRow",
    "ParityRow",
    "Prediction",
    "Recomputation",
    "Report",
    "Share",
    "SourceFacts",
    "TargetFacts",
    "TensorFacts",
    "Unverified",
    "Verdict",
    "Weight",
    "print_comparison",
    "print_report",
    "render_html",
    "render_json",
    "render_markdown",
    "to_dict",
]
