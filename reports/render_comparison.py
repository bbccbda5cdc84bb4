"""Several targets side by side for a terminal: one row each, then what stands in the way on each.

Strings of a model go into `Text` objects, never into Rich markup. Knows no other renderer; who calls owns the console.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports import summary, units
from reports.escape import visible
from reports.facts import Outcome, Report, State

STYLES = {"good": "green", "warn": "yellow", "bad": "bold red"}
VERDICTS: dict[Outcome, str] = {"trains": "trains", "degraded": "degraded", "cannot_train": "no"}
COUNTED: dict[State, str] = {"missing": "missing", "fallback": "host"}


def _table() -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    table.add_column("target", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for title in (*COUNTED.values(), "step", "samples/s", "memory", "of"):
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _row(report: Report) -> list[str | Text]:
    counts = summary.state_counts(report)
    cells = [units.number(counts.get(state, 0)) for state in COUNTED]
    outcome = report.verdict.outcome
    verdict = Text(VERDICTS.get(outcome, outcome), STYLES[summary.tone(report)])
    name = Text(visible(report.target.name))
    found = report.prediction
    if found is None:
        return [name, verdict, *cells, "-", "-", "-", "-"]
    step = "unknown" if found.step_seconds is None else units.duration(found.step_seconds)
    rate = "unknown" if found.samples_per_second is None else units.rate(found.samples_per_second)
    capacity = "unknown" if found.capacity_bytes is None else units.byte_size(found.capacity_bytes)
    return [name, verdict, *cells, step, rate, units.byte_size(found.peak_bytes), capacity]


def print_comparison(reports: Sequence[Report], console: Console) -> None:
    """Prints one row for each report, and under them why a target does not train the model well.

    Args:
        reports: of one source on several targets; at least one.
        console: where to; results belong on stdout.
    """
    table = _table()
    for report in reports:
        table.add_row(*_row(report))
    first = reports[0]
    batch = f", batch size {first.prediction.batch_size}" if first.prediction else ""
    console.print(Text(visible(first.source.name), style="bold"))
    console.print(Text(f"one training step, {visible(first.target.precision)}{batch}; time and memory are predicted"))
    console.print(table)
    for report in reports:
        if summary.tone(report) != "good":
            console.print(Text(visible(f"{report.target.name}: {report.verdict.reason}")))
