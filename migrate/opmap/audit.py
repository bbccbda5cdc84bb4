"""Holds a traced training step against a target: does it train there, what is missing, what it should cost.

Knows traces, targets and costs; must not know torch, how a step is traced, or how a report looks.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from migrate.errors import Diagnostic, error
from migrate.opmap.cost import NO_KERNEL, StepCost, bound_seconds, fits, predict_step
from migrate.opmap.fuse import FusedMapping, fused_operators, map_fused
from migrate.opmap.target import Target
from migrate.opmap.trace import PHASES, Precision, Recomputed, StepMemory, Trace, TraceRow, trace_package

State = Literal["native", "fused", "composed", "fallback", "missing", "metadata"]
SHOWN_PLACES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One operator of the step. `refused_dtypes` are those the target lacks; `seconds`, `bytes` and `flops` are of all
    calls of one step and predicted; `bound` is what most of the seconds are spent on: launch, memory, compute or host;
    `sources` are the nodes of the source model that became `modules`."""

    operator: str
    state: State
    dtypes: tuple[str, ...]
    refused_dtypes: tuple[str, ...]
    phases: tuple[str, ...]
    count: int
    modules: tuple[str, ...]
    sources: tuple[str, ...]
    parts: tuple[str, ...]
    needs_registration: bool
    bytes: int
    flops: int
    seconds: float
    bound: str
    todo: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What a target makes of a training step. `recompute_seconds` are what the blocks of `recomputed` take once more."""

    target: str
    title: str
    batch: int
    precision: str
    optimizer: str
    rows: tuple[AuditRow, ...]
    totals: Mapping[str, int]
    cost: StepCost
    memory: StepMemory
    recomputed: Recomputed | None
    recompute_seconds: float
    fused: tuple[FusedMapping, ...]
    diagnostics: tuple[Diagnostic, ...]
    verdict: str

    @property
    def trains(self) -> bool:
        """Whether every operator runs, be it on the host, in a dtype that the target has."""
        return not any(found.severity == "error" for found in self.diagnostics)

    @property
    def degraded(self) -> bool:
        """Whether it does not train, or trains with a warning: on the host, by a decomposition, or beyond its memory."""
        return any(found.severity != "note" for found in self.diagnostics)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, `trains` and `degraded` included."""
        return asdict(self) | {"trains": self.trains, "degraded": self.degraded}


def state_of(row: TraceRow, target: Target) -> State:
    """The audit's state of a traced row."""
    if row.state == "missing":
        return "fallback" if target.host_fallback else "missing"
    if row.state == "registered" or row.state == "composed":
        return "composed"
    if row.state == "metadata":
        return "metadata"
    return "fused" if row.operator in fused_operators(target) else "native"


def advice(row: AuditRow) -> str:
    """What to do about a row; empty where nothing is to be done."""
    if row.refused_dtypes:
        return "train in a dtype that the target has"
    if row.state == "missing":
        return "write a kernel and add the operator to the target's table, or change the module"
    if row.state == "fallback":
        return "write a kernel: every call crosses the link to the host"
    if row.needs_registration:
        return f"register PyTorch's decomposition on the device; it runs as {', '.join(row.parts)}"
    return ""


def audit_row(
    operator: str, rows: Sequence[TraceRow], target: Target, sources: Mapping[str, Sequence[str]]
) -> AuditRow:
    """One row of the audit from all traced rows of an operator."""
    states = {state_of(row, target) for row in rows}
    order: tuple[State, ...] = ("missing", "fallback", "composed", "fused", "native", "metadata")
    modules = tuple(dict.fromkeys(row.module for row in rows))
    # What is composed is refused where its parts are.
    dtypes = sorted({dtype for row in rows for dtype in row.dtypes})
    computed = {dtype for row in rows if row.state not in NO_KERNEL for dtype in row.dtypes}
    step = [row for row in rows if row.phase != "setup"]
    bounds = bound_seconds(step, target)
    seconds = sum(bounds.values())
    row = AuditRow(
        operator=operator,
        state=next(state for state in order if state in states),
        dtypes=tuple(dtypes),
        refused_dtypes=tuple(sorted(computed - target.dtypes.keys())),
        phases=tuple(phase for phase in PHASES if any(row.phase == phase for row in rows)),
        count=sum(row.count for row in step),
        modules=modules,
        sources=tuple(dict.fromkeys(node for module in modules for node in sources.get(module, ()))),
        parts=tuple(dict.fromkeys(part for row in rows for part in row.parts)),
        needs_registration=any(row.state == "registered" for row in rows),
        bytes=sum(row.count * row.bytes for row in step),
        flops=sum(row.count * row.flops for row in step),
        seconds=seconds,
        bound=max(bounds, key=lambda name: bounds[name]) if seconds else "",
        todo="",
    )
    return replace(row, todo=advice(row))


def shorten(names: Iterable[str]) -> str:
    """The first names of many."""
    found = list(names)
    more = f" and {len(found) - SHOWN_PLACES} more" if len(found) > SHOWN_PLACES else ""
    return ", ".join(found[:SHOWN_PLACES]) + more


def places(row: AuditRow) -> str:
    """The modules that need an operator and the source nodes behind them; outside the model, the phases."""
    inside = {"forward", "backward"}.intersection(row.phases)
    named = shorten(module or "the model" for module in row.modules) if inside else ", ".join(row.phases)
    return f"{named} (source: {shorten(row.sources)})" if row.sources else named


def diagnose_row(row: AuditRow, target: Target) -> list[Diagnostic]:
    """The diagnostics of one operator, its dtypes left aside."""
    found: list[Diagnostic] = []
    where, calls = places(row), f"{row.count} calls in {', '.join(row.phases)}"
    if row.state == "missing":
        what = f"{target.name} has no kernel for {row.operator}"
        found.append(error("MIG401", what, where=where, why=calls, todo=row.todo))
    if row.state == "fallback":
        why = f"{calls}, {row.bytes:,} bytes over the link, {row.seconds * 1e3:.3f} ms predicted"
        what = f"{row.operator} runs on the host"
        found.append(Diagnostic(code="MIG403", severity="warning", what=what, where=where, why=why, todo=row.todo))
    if row.needs_registration:
        what = f"{row.operator} runs on {target.name} only as a decomposition"
        found.append(Diagnostic(code="MIG405", severity="warning", what=what, where=where, why=calls, todo=row.todo))
    return found


def diagnose_dtypes(rows: Sequence[AuditRow], target: Target) -> list[Diagnostic]:
    """One diagnostic for each dtype that the target lacks, with the operators and modules that use it."""
    found: list[Diagnostic] = []
    for dtype in sorted({dtype for row in rows for dtype in row.refused_dtypes}):
        users = [row for row in rows if dtype in row.refused_dtypes]
        modules = [module for row in users for module in row.modules if module] or ["the model"]
        where = shorten(dict.fromkeys(modules))
        why = f"{len(users)} operators: {shorten(row.operator for row in users)}"
        todo = f"train in another dtype: {target.name} has {', '.join(sorted(target.dtypes))}"
        found.append(error("MIG402", f"{target.name} does not compute in {dtype}", where=where, why=why, todo=todo))
    return found


def diagnose(trace: Trace, rows: Sequence[AuditRow], target: Target) -> tuple[Diagnostic, ...]:
    """All diagnostics of a step: operators, dtypes, memory, then remarks of the trace."""
    found = [diagnostic for row in rows for diagnostic in diagnose_row(row, target)]
    found += diagnose_dtypes(rows, target)
    if not fits(trace.memory, target):
        what = f"{trace.memory.peak:,} bytes at batch {trace.batch} do not fit into {target.memory_bytes.value:,.0f}"
        todo = "train with a smaller batch, or shard the model"
        found.append(Diagnostic(code="MIG406", severity="warning", what=what, where=target.name, todo=todo))
    remarks = (Diagnostic(code="MIG407", severity="note", what=note) for note in trace.notes)
    return (*found, *remarks)


def state_verdict(rows: Sequence[AuditRow], diagnostics: Sequence[Diagnostic], target: Target) -> str:
    """One sentence: does it train, and what stands in the way."""
    missing = [row.operator for row in rows if row.state == "missing"]
    refused = sorted({dtype for row in rows for dtype in row.refused_dtypes})
    reasons = [f"{len(missing)} operators are missing: {', '.join(missing)}"] if missing else []
    reasons += [f"dtypes are not supported: {', '.join(refused)}"] if refused else []
    if reasons:
        return f"does not train on {target.name}: {'; '.join(reasons)}"
    warnings = [found.what for found in diagnostics if found.severity == "warning"]
    return f"trains on {target.name}, degraded: {'; '.join(warnings)}" if warnings else f"trains on {target.name}"


def audit_trace(trace: Trace, target: Target, sources: Mapping[str, Sequence[str]] | None = None) -> Audit:
    """The audit of a traced step; `sources` maps module paths to nodes of the source model."""
    grouped: defaultdict[str, list[TraceRow]] = defaultdict(list)
    for row in trace.rows:
        grouped[row.operator].append(row)
    rows = tuple(audit_row(name, grouped[name], target, sources or {}) for name in sorted(grouped))
    diagnostics = diagnose(trace, rows, target)
    totals: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        totals[row.state] += 1
    return Audit(
        target=target.name,
        title=target.title,
        batch=trace.batch,
        precision=trace.precision,
        optimizer=trace.optimizer,
        rows=rows,
        totals=dict(totals),
        cost=predict_step(trace.rows, target, trace.batch),
        memory=trace.memory,
        recomputed=trace.recomputed,
        recompute_seconds=sum(bound_seconds(recomputed_rows(trace), target).values()),
        fused=map_fused(trace.rows, target),
        diagnostics=diagnostics,
        verdict=state_verdict(rows, diagnostics, target),
    )


def recomputed_rows(trace: Trace) -> list[TraceRow]:
    """What runs once more with activation checkpointing: the forward pass of the blocks."""
    blocks = trace.recomputed.blocks if trace.recomputed else ()
    inside = tuple(f"{block}." for block in blocks)
    return [row for row in trace.rows if row.phase == "forward" and f"{row.module}.".startswith(inside)]


def read_sources(directory: Path, name: str) -> dict[str, list[str]]:
    """Module paths and the source nodes behind them, from the package's `weights.json` where it has one."""
    path = directory / name / "weights.json"
    return json.loads(path.read_text(encoding="utf-8")).get("modules", {}) if path.is_file() else {}


def audit_package(
    directory: Path, name: str, target: Target, *, batch: int, precision: Precision = "fp32", optimizer: str = "adamw"
) -> Audit:
    """Audits one training step of the emitted package `name` in `directory` on `target`, in a process of its own.

    Raises:
        MigrateError: MIG404 where the step cannot be traced.
    """
    trace = trace_package(directory, name, target, batch=batch, precision=precision, optimizer=optimizer)
    return audit_trace(trace, target, read_sources(directory, name))
