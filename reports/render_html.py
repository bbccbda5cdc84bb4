"""The report as one self-contained HTML page: inline CSS and SVG, no script, no network, escaped by default.

The page is `templates/report.html.j2`; what is drawn is planned in `charts.py`. Knows no other renderer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reports import charts, summary, units
from reports.escape import shorten, visible
from reports.facts import Prediction, Report

TEMPLATES = Path(__file__).with_name("templates")
SECTIONS = (
    ("next", "Next"),
    ("changes", "Changes"),
    ("mapping", "Operators"),
    ("parity", "Comparison"),
    ("prediction", "Prediction"),
    ("source", "Source"),
    ("weights", "Parameters"),
    ("unverified", "Not verified"),
    ("diagnostics", "Diagnostics"),
)
TITLES = {"convert": "Migration", "check": "Check", "verify": "Verification"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A name with its value, and a second line that explains it."""

    name: str
    value: str
    detail: str = ""


def _printable(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def environment() -> Environment:
    """The page's templates: autoescape on, an unknown name raises, hidden characters are shown."""
    env = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        keep_trailing_newline=True,
    )
    env.filters |= {
        "name": shorten,
        "shape": units.shape,
        "error": units.error,
        "number": units.number,
        "duration": units.duration,
    }
    return env


def _figures(report: Report) -> Iterator[Fact]:
    """The handful of numbers that a reader looks for first."""
    inventory, prediction = report.inventory, report.prediction
    yield Fact(
        name="Trained",
        value=units.number(inventory.num_trainable),
        detail=f"elements in {units.plural(len(inventory.trainable), 'tensor')}, {report.target.precision}",
    )
    if report.mapping:
        counts = summary.state_counts(report)
        blocked = counts.get("missing", 0) + counts.get("fallback", 0)
        total = sum(counts.values())
        yield Fact(
            name="Calls on the device", value=units.percent(total - blocked, total), detail=summary.mapping_line(report)
        )
    if report.parity:
        deciding = [row for row in report.parity if row.decides]
        value = f"{sum(row.passed for row in deciding)} of {len(deciding)}"
        yield Fact(name="Comparisons passed", value=value, detail=report.parity[0].engine)
    if prediction:
        yield _step_fact(prediction)
        room = f"of {units.byte_size(prediction.capacity_bytes)}" if prediction.capacity_bytes else ""
        yield Fact(name="Peak memory, predicted", value=units.byte_size(prediction.peak_bytes), detail=room)


def _step_fact(prediction: Prediction) -> Fact:
    """The predicted step, or that there is no prediction."""
    if prediction.step_seconds is None or prediction.samples_per_second is None:
        return Fact(name="Step", value="not predicted", detail=prediction.basis)
    per_second = f"{units.rate(prediction.samples_per_second)} samples/s at batch size {prediction.batch_size}"
    return Fact(name="Step, predicted", value=units.duration(prediction.step_seconds), detail=per_second)


def _source_facts(report: Report) -> Iterator[Fact]:
    source = report.source
    yield Fact(name="Name", value=source.name)
    yield Fact(name="Format", value=source.format)
    opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in sorted(source.opsets.items()))
    operators = ", ".join(f"{name} {count}" for name, count in summary.by_count(source.operators))
    optional = {"Producer": source.producer, "Operator sets": opsets, "SHA-256": source.sha256, "Nodes": operators}
    yield from (Fact(name=name, value=value) for name, value in optional.items() if value)


def _weight_facts(report: Report) -> Iterator[Fact]:
    inventory = report.inventory
    parameters, buffers = inventory.of_role("parameter"), inventory.of_role("buffer")
    yield Fact(name="Parameters", value=f"{len(parameters)}, of which {len(inventory.trainable)} are trained")
    yield Fact(name="Buffers", value=str(len(buffers)))
    yield Fact(name="Ties", value=str(len(inventory.ties)))
    yield Fact(name="Size", value=units.byte_size(inventory.num_bytes))


def render_html(report: Report) -> str:
    """The whole page as text."""
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            title=TITLES[report.command],
            css=Markup(TEMPLATES.joinpath("report.css").read_text(encoding="ascii").strip()),
            headline=summary.headline(report),
            tone=summary.tone(report),
            sections=[{"id": name, "title": title} for name, title in SECTIONS],
            figures=list(_figures(report)),
            steps=summary.next_steps(report),
            mapping=summary.mapping_rows(report),
            state_meanings=[(state, summary.STATE_MEANINGS[state]) for state in summary.state_counts(report)],
            states_chart=charts.mapping_states(report),
            parity=summary.parity_rows(report),
            parity_line=summary.parity_line(report),
            recomputation=summary.recomputation_line(report.prediction) if report.prediction else "",
            parity_chart=charts.parity(report),
            time_chart=charts.step_time(report),
            memory_chart=charts.memory(report.prediction) if report.prediction else None,
            source_facts=list(_source_facts(report)),
            weight_facts=list(_weight_facts(report)),
        )
    )
