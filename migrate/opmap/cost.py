"""Predicts the time of a training step and whether it fits: a roofline over the traced operators.

Per call: launch + max(bytes / memory bandwidth, operations / peak rate of the dtype). That is a lower bound, since no
kernel reaches both roofs; every result is a prediction and is to be labelled so. A figure that nobody knows costs
nothing, and is named. Must not know diagnostics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from migrate.opmap.target import Target
from migrate.opmap.trace import StepMemory, TraceRow

LABEL = "predicted"
# Rows without a kernel: views, and operators whose parts are rows of their own.
NO_KERNEL = frozenset({"metadata", "composed", "registered"})
ALLOCATIONS = frozenset({"empty.memory_format", "empty_strided", "resize_"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCost:
    """Seconds of one call, by what bounds it; `seconds` is launch + max(memory, compute), plus the way to the host."""

    launch: float
    memory: float
    compute: float
    host: float = 0.0

    @property
    def seconds(self) -> float:
        """Predicted seconds of the call."""
        return self.launch + max(self.memory, self.compute) + self.host

    @property
    def bound(self) -> str:
        """What takes the largest part: launch, memory, compute or host."""
        parts = {"host": self.host, "compute": self.compute, "memory": self.memory, "launch": self.launch}
        return max(parts, key=lambda name: parts[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """A predicted step. `bounds` says how many seconds are spent in calls bound by launch, memory, compute or host.

    `unknown` names the figures that the target's profile does not know: with any of them `seconds` predict nothing.
    """

    label: str
    seconds: float
    samples_per_second: float
    phases: Mapping[str, float]
    bounds: Mapping[str, float]
    flops: int
    bytes: int
    flops_share: float
    joules_per_sample: float | None
    unknown: tuple[str, ...] = ()


def call_cost(row: TraceRow, target: Target) -> CallCost:
    """The cost of one call of a row; a missing operator goes to the host and back where the target allows that."""
    if row.state in NO_KERNEL or row.operator in ALLOCATIONS:
        return CallCost(launch=0.0, memory=0.0, compute=0.0)
    host = 0.0
    if row.state == "missing" and target.host_fallback:
        link = target.links["host"]
        # Arguments go out and results come back: two latencies, and every byte crosses once.
        host = 2 * link.latency_seconds.value + row.bytes / link.bandwidth.value
    memory = row.bytes / target.memory_bandwidth.value
    compute = row.flops / target.peak_flops(row.dtype)
    return CallCost(launch=target.launch_seconds.value, memory=memory, compute=compute, host=host)


def bound_seconds(rows: Iterable[TraceRow], target: Target) -> dict[str, float]:
    """Predicted seconds by what the calls are bound by: launch, memory, compute or host."""
    bounds: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        cost = call_cost(row, target)
        bounds[cost.bound] += row.count * cost.seconds
    return dict(bounds)


def unknown_figures(rows: Sequence[TraceRow], target: Target) -> tuple[str, ...]:
    """The figures that the time of these rows rests on and that the profile does not know."""
    computed = {row.dtype for row in rows if row.flops}
    dtypes = {target.compute_dtype(dtype) for dtype in computed}
    needed = {f"dtypes.{name}.peak_flops" for name in dtypes} | {"memory.bandwidth", "launch_seconds"}
    if target.host_fallback and any(row.state == "missing" for row in rows):
        needed |= {"links.host.bandwidth", "links.host.latency_seconds"}
    return tuple(name for name, figure in target.figures().items() if name in needed and not figure.known)


def predict_step(rows: Iterable[TraceRow], target: Target, batch: int) -> StepCost:
    """The predicted step from its second on: the first optimizer step, which allocates state, is left out."""
    phases: defaultdict[str, float] = defaultdict(float)
    rows = [row for row in rows if row.phase != "setup"]
    flops = moved = 0
    ideal = 0.0
    for row in rows:
        cost = call_cost(row, target)
        phases[row.phase] += row.count * cost.seconds
        flops += row.count * row.flops
        moved += row.count * row.bytes
        ideal += row.count * cost.compute
    seconds = sum(phases.values())
    unknown = unknown_figures(rows, target)
    power = target.power_watts.stated if target.power_watts and not unknown else None
    return StepCost(
        label=LABEL,
        seconds=seconds,
        samples_per_second=batch / seconds if seconds else 0.0,
        phases=dict(phases),
        bounds=bound_seconds(rows, target),
        flops=flops,
        bytes=moved,
        flops_share=ideal / seconds if seconds else 0.0,
        joules_per_sample=power * seconds / batch if power is not None else None,
        unknown=unknown,
    )


def fits(memory: StepMemory, target: Target) -> bool:
    """Whether the largest total seen alive in the traced step is within the target's memory."""
    return memory.peak <= target.memory_bytes.value
