"""What follows from the facts and is said by every renderer alike: order, counts, headlines, next steps.

Knows no output format.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from reports import units
from reports.facts import MappingRow, Outcome, ParityRow, Prediction, Report, State

Tone = Literal["good", "warn", "bad"]

STATES: tuple[State, ...] = get_args(State)  # the worst first
STATE_MEANINGS: dict[State, str] = {
    "missing": "the target has no kernel and no decomposition: the step cannot run",
    "fallback": "runs on the host, with copies there and back",
    "composed": "decomposed into native operators",
    "fused": "a better kernel is linked into the package",
    "native": "the target has a kernel",
    "metadata": "changes a view, needs no kernel",
}
HEADLINES: dict[Outcome, tuple[str, Tone]] = {
    "verified": ("Verified against the source", "good"),
    "unverified": ("Converted, not verified", "warn"),
    "parity_failed": ("Converted, but parity failed", "bad"),
    "trains": ("Trains on the target", "good"),
    "degraded": ("Degraded on the target", "warn"),
    "cannot_train": ("Does not train on the target", "bad"),
    "refused": ("Not converted", "bad"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something for the user to do; `command` is a shell command, or empty."""

    text: str
    command: str = ""


def headline(report: Report) -> str:
    """The verdict in a few words."""
    return HEADLINES[report.verdict.outcome][0]


def tone(report: Report) -> Tone:
    """Whether the verdict is good news."""
    return HEADLINES[report.verdict.outcome][1]


def by_count(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """The most frequent first, equal ones by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def mapping_rows(report: Report) -> list[MappingRow]:
    """The mapping with what needs attention first, then the slowest."""
    return sorted(report.mapping, key=lambda r: (STATES.index(r.state), -(r.seconds or 0.0), r.operator))


def state_counts(report: Report) -> dict[State, int]:
    """Calls of one training step by state, the worst state first; states that do not occur are left out."""
    counts: dict[State, int] = {}
    for row in mapping_rows(report):
        counts[row.state] = counts.get(row.state, 0) + row.count
    return counts


def severity(row: ParityRow) -> float:
    """How close a comparison came to its tolerance: above 1 it failed; infinite where the error is no number."""
    if row.error is None or row.tolerance is None:
        return 0.0 if row.accepted else math.inf
    if not math.isfinite(row.error):
        return math.inf
    return row.error / row.tolerance if row.tolerance > 0 else (math.inf if row.error > 0 else 0.0)


def parity_rows(report: Report) -> list[ParityRow]:
    """The comparisons as they were made, failed ones first."""
    return sorted(report.parity, key=lambda row: row.accepted)


def worst_parity(report: Report) -> ParityRow | None:
    """The comparison that came closest to its tolerance, or exceeded it most."""
    deciding = (row for row in report.parity if row.decides)
    return max(deciding, key=lambda row: (not row.passed, severity(row)), default=None)


def parity_line(report: Report) -> str:
    """One sentence on the comparisons: how many passed, and the closest call."""
    worst = worst_parity(report)
    if worst is None:
        return "not compared with the source"
    deciding = [row for row in report.parity if row.decides]
    passed = sum(row.passed for row in deciding)
    line = f"{passed} of {units.plural(len(deciding), 'check')} passed"
    if worst.error is None or worst.tolerance is None:
        return line
    closest = f"{units.error(worst.error)} of {units.error(worst.tolerance)} ({worst.check})"
    return f"{line}; {'closest to its tolerance' if worst.accepted else 'worst'}: {closest}"


def mapping_line(report: Report) -> str:
    """One sentence on the mapping, by state: `2 missing, 1 fallback, 310 native`."""
    return ", ".join(f"{units.number(count)} {state}" for state, count in state_counts(report).items())


def weights_line(report: Report) -> str:
    """One sentence on the inventory: how many of what, and their size."""
    inventory = report.inventory
    parts = (
        f"{units.plural(len(inventory.of_role('parameter')), 'parameter')}, {len(inventory.trainable)} of them trained "
        f"({units.plural(inventory.num_trainable, 'element')})",
        units.plural(len(inventory.of_role("buffer")), "buffer"),
        units.plural(len(inventory.ties), "tie"),
        units.byte_size(inventory.num_bytes),
    )
    return ", ".join(parts)


def memory_line(prediction: Prediction) -> str:
    """The predicted peak, and of how much where the target's memory is known."""
    room = f" of {units.byte_size(prediction.capacity_bytes)}" if prediction.capacity_bytes else ""
    return units.byte_size(prediction.peak_bytes) + room


def recomputation_line(prediction: Prediction) -> str:
    """What activation checkpointing would change; empty where no block repeats."""
    found = prediction.recomputed
    if found is None:
        return ""
    saved, peak = units.byte_size(found.saved_bytes), units.byte_size(found.peak_bytes)
    longer = "" if found.seconds is None else f", {units.duration(found.seconds)} longer"
    return (
        f"with train.activation_checkpointing=blocks ({units.plural(found.blocks, 'block')}): peak {peak}, "
        f"saved activations {saved}{longer}"
    )


def speed_line(prediction: Prediction) -> str:
    """The predicted step and throughput, or why there is none."""
    if prediction.step_seconds is None or prediction.samples_per_second is None:
        return f"step time not predicted ({prediction.basis})"
    step = units.duration(prediction.step_seconds)
    per_second = units.rate(prediction.samples_per_second)
    return f"{step} a step, {per_second} samples/s at batch size {prediction.batch_size}"


def next_steps(report: Report) -> list[Step]:
    """What to do next, the blocking things first, each once."""
    return list(dict.fromkeys([*_findings(report), *_commands(report)]))


def _findings(report: Report) -> Iterator[Step]:
    if failed := dict.fromkeys(row.check for row in report.parity if not row.accepted):
        yield Step(text=f"Find out why this differs from the source before you train: {', '.join(failed)}")
    alike: dict[tuple[State, str], list[str]] = {}
    for row in mapping_rows(report):
        if row.todo:
            alike.setdefault((row.state, row.todo), []).append(row.operator)
    for (state, todo), operators in alike.items():
        yield Step(text=f"{', '.join(operators)} ({state}): {todo}")
    for diagnostic in report.diagnostics:
        if diagnostic.todo:
            yield Step(text=f"{diagnostic.what}: {diagnostic.todo} ({diagnostic.code})")
    for gap in report.unverified:
        if gap.todo:
            yield Step(text=f"{gap.what}: {gap.todo}")


def _commands(report: Report) -> Iterator[Step]:
    if report.package is None:
        return
    run = f"python -m {report.package}"
    device = f"--device {report.target.device}"
    if report.parity:  # else nothing is stored that could be compared again
        yield Step(text="Repeat the comparison on the device that will train", command=f"{run} verify {device}")
    yield Step(text="Train a few steps on synthetic data", command=f"{run} train {device} --steps 10")
    yield Step(
        text="Put your data in: local/data.py, or [data] in train.toml",
        command=f"{run} train {device} --set data.kind=local",
    )
