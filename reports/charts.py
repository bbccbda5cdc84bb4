"""Geometry of the charts: lengths in percent of the drawing's width, texts ready to print.

A chart has no fixed width, so its text keeps its size on a narrow screen. Knows no HTML; the template draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reports import summary, units
from reports.escape import shorten, visible
from reports.facts import ParityRow, Prediction, Report, Share, State

MAX_BARS = 12
MAX_DOTS = 16
MAX_TICKS = 6
LABEL_LIMIT = 36  # what fits beside the value on a screen of 400 px
BOUNDS = frozenset({"compute", "memory", "launch", "host"})  # each has a colour in report.css
CHART_ORDER: tuple[State, ...] = ("native", "fused", "composed", "fallback", "missing", "metadata")
INSET = 3.0  # percent kept free at both ends of an axis, for half a tick label


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A labelled length, or a part of a stack that starts at `start`; `tone` names its colour."""

    label: str
    value: str
    width: float
    start: float = 0.0
    tone: str = "plain"
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart:
    """Bars under each other; `description` says in words what the picture shows."""

    name: str
    title: str
    description: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StackChart:
    """Parts of one whole in one line, with a legend; what is left of the line is free."""

    name: str
    title: str
    description: str
    parts: tuple[Bar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """An error and its tolerance on a logarithmic axis; `limit` is None without a tolerance."""

    label: str
    value: str
    at: float
    limit: float | None
    passed: bool
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A decade of the axis."""

    at: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DotChart:
    """Errors on a logarithmic axis with their tolerances."""

    name: str
    title: str
    description: str
    dots: tuple[Dot, ...]
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAxis:
    """Whole decades from `low` to `high`; zero and below are drawn at the left end, infinity at the right."""

    low: int
    high: int

    @staticmethod
    def around(values: Sequence[float]) -> LogAxis:
        """The decades that hold all finite positive values."""
        logs = [math.log10(v) for v in values if math.isfinite(v) and v > 0] or [0.0]
        low = math.floor(min(logs))
        return LogAxis(low=low, high=max(math.ceil(max(logs)), low + 1))

    def at(self, value: float) -> float:
        """Position in percent."""
        if value <= 0:
            return INSET
        if not math.isfinite(value):
            return 100 - INSET
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return round(INSET + (100 - 2 * INSET) * part, 2)

    def ticks(self) -> tuple[Tick, ...]:
        """At most `MAX_TICKS` decades, evenly spaced from the high end, where the tolerances are."""
        step = math.ceil((self.high - self.low) / (MAX_TICKS - 1))
        decades = range(self.high, self.low - 1, -step)
        return tuple(Tick(at=self.at(10.0**d), label=f"1e{d}") for d in reversed(decades))


def _label(text: str) -> str:
    return shorten(visible(text), LABEL_LIMIT)


def _part(part: float, whole: float) -> float:
    return round(100 * part / whole, 2) if whole > 0 else 0.0


def _stack(
    sizes: Sequence[tuple[str, int, str]], total: int, whole: int, show: Callable[[int], str]
) -> tuple[Bar, ...]:
    """Bars end to end from (label, size, tone): drawn as parts of `whole`, told as parts of `total`."""
    bars: list[Bar] = []
    start = 0
    for label, size, tone in sizes:
        value = f"{show(size)}  {units.percent(size, total)}"
        place = {"start": _part(start, whole), "width": _part(size, whole)}
        bars.append(Bar(label=_label(label), value=value, tone=tone, title=f"{visible(label)}: {value}", **place))
        start += size
    return tuple(bars)


def _shares(report: Report) -> list[Share]:
    """The parts of the step, slowest first: as predicted, else as the mapping prices them."""
    priced = [Share(operator=r.operator, seconds=r.seconds) for r in report.mapping if r.seconds is not None]
    stated = report.prediction.shares if report.prediction else ()
    costly = [share for share in stated or priced if share.seconds > 0]
    return sorted(costly, key=lambda s: (-s.seconds, s.operator))


def step_time(report: Report) -> BarChart:
    """The slowest operators of the predicted step; the rest is one bar."""
    shares = _shares(report)
    shown = shares[:MAX_BARS]
    if rest := shares[MAX_BARS:]:
        name = units.plural(len(rest), "other operator")
        shown.append(Share(operator=name, seconds=sum(s.seconds for s in rest)))
    longest = max((s.seconds for s in shown), default=0.0)
    total = sum(s.seconds for s in shares)
    return BarChart(
        name="step-time",
        title="Predicted step time by operator",
        description=f"{units.plural(len(shares), 'operator')}, {units.duration(total)} together, slowest first;"
        " the word beside a time says what limits it.",
        bars=tuple(_share_bar(share, longest, total) for share in shown),
    )


def _share_bar(share: Share, longest: float, total: float) -> Bar:
    value = "  ".join(filter(None, [units.duration(share.seconds), units.percent(share.seconds, total), share.bound]))
    return Bar(
        label=_label(share.operator),
        value=value,
        width=_part(share.seconds, longest),
        tone=share.bound if share.bound in BOUNDS else "plain",
        title=f"{visible(share.operator)}: {value}",
    )


def mapping_states(report: Report) -> StackChart:
    """Operator calls of one training step by state."""
    counts = summary.state_counts(report)
    total = sum(counts.values())
    best_first = sorted(counts, key=CHART_ORDER.index)
    return StackChart(
        name="mapping-states",
        title="Operator calls of one step by state",
        description=f"{units.plural(total, 'call')}: {summary.mapping_line(report)}.",
        parts=_stack([(s, counts[s], s) for s in best_first], total, total, units.number),
    )


def memory(prediction: Prediction) -> StackChart:
    """The predicted peak by use, in the target's memory."""
    parts = summary.by_count(prediction.memory)
    told = sum(prediction.memory.values())
    other = prediction.peak_bytes - told
    if other > 0:
        parts.append(("other", other))
    whole = max(prediction.peak_bytes, told, prediction.capacity_bytes or 0)
    apart = " The parts are not all alive at once." if other < 0 else ""
    rows = [(name, size, f"part{i % 6}") for i, (name, size) in enumerate(parts)]
    return StackChart(
        name="memory",
        title="Predicted peak memory by use",
        description=f"{summary.memory_line(prediction)} at batch size {prediction.batch_size}, predicted.{apart}",
        parts=_stack(rows, prediction.peak_bytes, whole, units.byte_size),
    )


def _dot(row: ParityRow, error: float, axis: LogAxis) -> Dot:
    label = f"{row.check}, {row.case}" if row.case else row.check
    value = units.error(error) + (f" of {units.error(row.tolerance)}" if row.tolerance is not None else "")
    return Dot(
        label=_label(label),
        value=value,
        at=axis.at(math.inf if math.isnan(error) else error),
        limit=axis.at(row.tolerance) if row.tolerance is not None else None,
        passed=row.accepted,
        title=f"{visible(label)}: {value}, {row.result}",
    )


def parity(report: Report) -> DotChart:
    """Errors against tolerances; of many comparisons those nearest to their tolerance."""
    numeric = [row for row in report.parity if row.error is not None]
    shown = sorted(numeric, key=lambda row: (row.accepted, -summary.severity(row)))[:MAX_DOTS]
    values = [v for row in shown for v in (row.error, row.tolerance) if v is not None]
    axis = LogAxis.around(values)
    cut = len(numeric) > len(shown)
    chosen = f"the {len(shown)} nearest to their tolerance, of {len(numeric)}" if cut else f"all {len(shown)} measured"
    failed = sum(not row.accepted for row in numeric)
    return DotChart(
        name="parity-errors",
        title="Parity error against tolerance",
        description=f"Logarithmic axis; {chosen}. {failed} failed.",
        dots=tuple(_dot(row, row.error, axis) for row in shown if row.error is not None),
        ticks=axis.ticks(),
    )
