"""The report as Markdown: MIGRATION.md of the package. Every string is escaped here; knows no other renderer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports import summary, units
from reports.escape import markdown_code as code
from reports.escape import markdown_text as text
from reports.facts import Change, MappingRow, ParityRow, Report, TensorFacts

TITLES = {"convert": "Migration of", "check": "Check of", "verify": "Verification of"}
NAMES_SHOWN = 3
OPERATORS_SHOWN = 12


def _names(names: Sequence[str]) -> str:
    """The first names as code, and how many more there are."""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(code(name) for name in names[:NAMES_SHOWN]) + more


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table whose cells are Markdown already; a heading that ends in `:` is aligned to the right."""
    yield f"| {' | '.join(title.removesuffix(':') for title in head)} |"
    yield f"| {' | '.join('---:' if title.endswith(':') else '---' for title in head)} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _section(title: str, lines: Sequence[str], otherwise: str) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from lines or (otherwise,)


def _tensors(tensors: Sequence[TensorFacts]) -> str:
    return ", ".join(f"{code(t.name)} {text(units.shape(t.shape))} {text(t.dtype)}" for t in tensors)


def _opening(report: Report) -> Iterator[str]:
    yield f"# {TITLES[report.command]} {code(report.source.name)} to {code(report.target.name)}"
    yield ""
    reason = f" {text(report.verdict.reason)}" if report.verdict.reason else ""
    note = report.target.description
    kind = f" {code(report.target.name)}: {text(note)}." if note else ""
    yield f"**{summary.headline(report)}.**{reason}{kind}"


def _identity(report: Report) -> Iterator[str]:
    source = report.source
    opsets = ", ".join(f"{text(domain or 'ai.onnx')} {version}" for domain, version in sorted(source.opsets.items()))
    counts = summary.by_count(source.operators)
    listed = ", ".join(f"{text(name)} {count}" for name, count in counts[:OPERATORS_SHOWN])
    more = f" and {len(counts) - OPERATORS_SHOWN} more operators" if len(counts) > OPERATORS_SHOWN else ""
    facts = {
        "Source": f"{code(source.name)}, {text(source.format)}" + (f" ({opsets})" if opsets else ""),
        "Written by": text(source.producer),
        "SHA-256": code(source.sha256) if source.sha256 else "",
        "Inputs": _tensors(source.inputs),
        "Outputs": _tensors(source.outputs),
        "Nodes": listed + more,
        "Weights": summary.weights_line(report),
        "Precision": text(report.target.precision),
        "Tool": f"migrate {text(report.tool_version)}",
    }
    yield from (f"- {name}: {value}" for name, value in facts.items() if value)
    yield from (f"- Odd in the source: {text(oddity)}" for oddity in source.oddities)


def _change(change: Change) -> list[str]:
    what = text(change.what) + (f" ({text(change.code)})" if change.code else "")
    return [what, text(change.why), _names(change.nodes)]


def _changes(report: Report) -> Iterator[str]:
    if report.changes:
        yield from _table(["Change", "Why", "Where"], [_change(c) for c in report.changes])


def _mapped(row: MappingRow) -> list[str]:
    needed = _names(row.modules) + (f" from {_names(row.nodes)}" if row.nodes else "")
    seconds = units.duration(row.seconds) if row.seconds is not None else "-"
    types, phases = text(", ".join(row.dtypes)), text(", ".join(row.phases))
    return [code(row.operator), row.state, units.number(row.count), types, phases, needed.strip(), seconds]


def _mapping(report: Report) -> Iterator[str]:
    if not report.mapping:
        return
    yield f"Operator calls of one training step (forward, loss, backward, optimizer): {summary.mapping_line(report)}."
    yield ""
    head = ["Operator", "State", "Calls:", "Types", "Phases", "Needed by", "Predicted:"]
    yield from _table(head, [_mapped(row) for row in summary.mapping_rows(report)])
    yield ""
    yield from (f"- {state}: {summary.STATE_MEANINGS[state]}" for state in summary.state_counts(report))
    yield from (f"- {code(row.operator)}: {text(row.why)}" for row in summary.mapping_rows(report) if row.why)


def _compared(row: ParityRow) -> list[str]:
    result = row.result if row.accepted else f"**{row.result}**"
    numbers = [units.error(row.error), units.error(row.tolerance)]
    return [text(row.check), text(row.case), result, *numbers, text(row.metric), text(row.engine)]


def _parity(report: Report) -> Iterator[str]:
    if not report.parity:
        return
    yield f"{text(summary.parity_line(report))}."
    yield ""
    head = ["Check", "Case", "Result", "Error:", "Tolerance:", "Measure", "Against"]
    yield from _table(head, [_compared(row) for row in summary.parity_rows(report)])


def _prediction(report: Report) -> Iterator[str]:
    prediction = report.prediction
    if prediction is None:
        return
    yield f"These figures are **{prediction.label}**, not measured. Basis: {text(prediction.basis)}."
    yield ""
    uses = ", ".join(f"{text(name)} {units.byte_size(size)}" for name, size in summary.by_count(prediction.memory))
    yield f"- Speed, {prediction.label}: {summary.speed_line(prediction)}"
    yield f"- Peak memory, {prediction.label}: {summary.memory_line(prediction)}" + (f" ({uses})" if uses else "")
    if line := summary.recomputation_line(prediction):
        yield f"- Activation checkpointing, {prediction.label}: {text(line)}"


def _unverified(report: Report) -> Iterator[str]:
    yield from (f"- {text(gap.what)}: {text(gap.why)}" for gap in report.unverified)


def _diagnostics(report: Report) -> Iterator[str]:
    for found in report.diagnostics:
        place = f" at {code(found.where)}" if found.where else ""
        why = f" ({text(found.why)})" if found.why else ""
        yield f"- {text(found.code)} {found.severity}: {text(found.what)}{place}{why}"


def _steps(report: Report) -> Iterator[str]:
    for place, step in enumerate(summary.next_steps(report), start=1):
        yield f"{place}. {text(step.text)}" + (f": {code(step.command)}" if step.command else "")


def render_markdown(report: Report) -> str:
    """The whole document; ends in one newline."""
    lines = [
        *_opening(report),
        *_section("What this is", list(_identity(report)), ""),
        *_section("What was changed, and why", list(_changes(report)), "Nothing was rewritten."),
        *_section("Operators on the target", list(_mapping(report)), "The training step was not traced."),
        *_section(
            "Comparison with the source", list(_parity(report)), "Not verified: nothing was compared with the source."
        ),
        *_section("Predicted speed and memory", list(_prediction(report)), "No prediction was made."),
        *_section("What is not verified", list(_unverified(report)), "Nothing is known to be unverified."),
        *_section("Diagnostics", list(_diagnostics(report)), "There are none."),
        *_section("What to do next", list(_steps(report)), "Nothing is left to do."),
    ]
    return "\n".join(lines) + "\n"
