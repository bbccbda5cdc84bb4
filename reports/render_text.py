"""The report for a terminal: what `migrate check` and `migrate convert` print. At most 100 columns.

Strings of a model go into `Text` objects, never into Rich markup. Knows no other renderer; who calls owns the console.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports import summary, units
from reports.escape import shorten, visible
from reports.facts import MappingRow, ParityRow, Report

MAX_WIDTH = 100
NAME_WIDTH = 40
QUIET_STATES = frozenset({"native", "composed", "metadata"})  # counted, not listed, unless asked for
TONES = {"good": "green", "warn": "yellow", "bad": "bold red"}
STATE_STYLES = {
    "missing": "bold red",
    "fallback": "yellow",
    "composed": "cyan",
    "fused": "green",
    "native": "",
    "metadata": "dim",
}
SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def _text(value: str, style: str = "") -> Text:
    return Text(visible(value), style=style)


def _name(value: str, style: str = "") -> Text:
    return Text(shorten(visible(value), NAME_WIDTH), style=style)


def _table(*columns: str) -> Table:
    """A table without a box; a heading that ends in `:` is aligned to the right and never wraps."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    for title in columns:
        right = title.endswith(":")
        table.add_column(title.removesuffix(":"), justify="right" if right else "left", no_wrap=right, overflow="fold")
    return table


class _Page:
    """A console with a width of its own, so that a wide terminal does not tear lines apart."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.width = min(console.width, MAX_WIDTH)

    def line(self, *parts: Text | str, indent: int = 0) -> None:
        joined = Text.assemble(*(part if isinstance(part, Text) else _text(part) for part in parts))
        self.console.print(Padding(joined, (0, 0, 0, indent), expand=False), width=self.width, highlight=False)

    def heading(self, title: str) -> None:
        self.console.print()
        self.line(Text(title, style="bold"))

    def table(self, table: Table) -> None:
        self.console.print(Padding(table, (0, 0, 0, 2), expand=False), width=self.width)


def _verdict(page: _Page, report: Report) -> None:
    tone = TONES[summary.tone(report)]
    page.line(
        _text(report.source.name, "bold"),
        " -> ",
        _text(report.target.name, "bold"),
        Text(f"  {summary.headline(report)}", tone),
    )
    note = report.target.description
    for sentence in (report.verdict.reason, f"{report.target.name}: {note}" if note else ""):
        if sentence:
            page.line(_text(sentence), indent=2)


def _figures(page: _Page, report: Report) -> None:
    grid = Table.grid(padding=(0, 2, 0, 0))
    if report.inventory.weights:
        grid.add_row("weights", summary.weights_line(report))
    if report.mapping:
        grid.add_row("operators", summary.mapping_line(report))
    if report.command != "check":
        grid.add_row("parity", _text(summary.parity_line(report)))
    if report.prediction:
        grid.add_row(report.prediction.label, summary.speed_line(report.prediction))
        grid.add_row("", f"peak memory {summary.memory_line(report.prediction)}")
        if line := summary.recomputation_line(report.prediction):
            grid.add_row("", line)
    page.table(grid)


def _where(row: MappingRow) -> Text:
    """Up to two modules that need the operator, else source nodes; then how many more."""
    places = row.modules or row.nodes
    more = f" +{len(places) - 2}" if len(places) > 2 else ""
    return Text.assemble(Text(", ").join(_name(place) for place in places[:2]), more)


def _mapping(page: _Page, report: Report, every: bool) -> None:
    rows = [row for row in summary.mapping_rows(report) if every or row.state not in QUIET_STATES]
    if not rows:
        return
    table = _table("state", "operator", "calls:", "types", "needed by", "predicted:")
    for row in rows:
        seconds = units.duration(row.seconds) if row.seconds is not None else "-"
        state = Text(row.state, STATE_STYLES[row.state])
        table.add_row(
            state, _name(row.operator), units.number(row.count), _text(", ".join(row.dtypes)), _where(row), seconds
        )
    page.heading(
        "Operators of the training step" if every else "Operators that need attention or a kernel of their own"
    )
    page.table(table)


def _changes(page: _Page, report: Report) -> None:
    if not report.changes:
        return
    table = _table("change", "why")
    for change in report.changes:
        table.add_row(_text(change.what), _text(change.why, "dim"))
    page.heading("Changed")
    page.table(table)


def _parity_rows(rows: Iterable[ParityRow]) -> Table:
    table = _table("check", "case", "result", "error:", "tolerance:", "against")
    for row in rows:
        result = Text(row.result, "green" if row.passed else "dim" if row.accepted else "bold red")
        numbers = (units.error(row.error), units.error(row.tolerance))
        table.add_row(_text(row.check), _text(row.case), result, *numbers, _text(row.engine, "dim"))
    return table


def _parity_table(page: _Page, report: Report, every: bool) -> None:
    """All comparisons on request; else the sentence at the top has them, and only those that did not pass are shown."""
    rows = [row for row in summary.parity_rows(report) if every or not row.passed]
    if rows:
        page.heading("Comparison with the source")
        page.table(_parity_rows(rows))


def _findings(page: _Page, report: Report) -> None:
    findings = [
        (f"{d.code} {d.severity}", SEVERITY_STYLES[d.severity], d.what, d.where, d.why) for d in report.diagnostics
    ]
    findings += [("not verified", "yellow", gap.what, "", gap.why) for gap in report.unverified]
    findings += [("odd source", "dim", oddity, "", "") for oddity in report.source.oddities]
    if not findings:
        return
    page.heading("Notes")
    for title, style, what, where, why in findings:
        place = Text.assemble(" at ", _name(where, "bold")) if where else Text()
        page.line(_text(f"{title}: ", style), _text(what), place, _text(f" ({why})" if why else "", "dim"), indent=2)


def _steps(page: _Page, report: Report) -> None:
    steps: Sequence[summary.Step] = summary.next_steps(report)
    if not steps:
        return
    page.heading("Next")
    for step in steps:
        page.line(_text(step.text), indent=2)
        if step.command:
            page.line(_text(step.command, "bold"), indent=4)


def print_report(report: Report, console: Console, *, every: bool = False) -> None:
    """Prints the report: the verdict first, then figures, tables, notes and next steps.

    Args:
        report: the facts of the run.
        console: where to; results belong on stdout.
        every: list native and metadata operators too, which are only counted otherwise.
    """
    page = _Page(console)
    _verdict(page, report)
    _figures(page, report)
    _mapping(page, report, every)
    _changes(page, report)
    _parity_table(page, report, every)
    _findings(page, report)
    _steps(page, report)
