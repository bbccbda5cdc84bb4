"""From the parts of a run to its report: plain copying, no judgement but the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import migrate
from migrate.errors import Diagnostic, Exit
from reports import (
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

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from migrate.codegen import PackagePlan
    from migrate.opmap import Audit, AuditRow, FusedMapping, Target
    from migrate.options import Options
    from migrate.sources import Opened

T = TypeVar("T", bound="DataclassInstance")
CHANGES = {"MIG301", "MIG303", "MIG311", "MIG312", "MIG315", "MIG319"}


def _copied(kind: type[T], facts: Any, **different: Any) -> T:
    """A `kind` whose fields are those of the same name in `facts`, but for what is given."""
    return kind(**{f.name: getattr(facts, f.name) for f in fields(kind) if f.name not in different}, **different)


def build_report(
    command: Literal["convert", "check"],
    *,
    opened: Opened,
    plan: PackagePlan,
    target: Target,
    audit: Audit,
    options: Options,
    verification: Any = None,
) -> Report:
    """The report of a `check` or of a `convert`."""
    notes = opened.graph.notes
    found = tuple(verification.diagnostics) if verification is not None else ()
    return Report(
        command=command,
        tool_version=migrate.__version__,
        source=source_facts(opened, plan),
        target=TargetFacts(name=target.name, kind=target.kind, device=target.device_name, precision=audit.precision),
        verdict=verdict(command, audit, options, verification),
        package=plan.name if command == "convert" else None,
        inventory=inventory(plan),
        changes=tuple(change(note) for note in notes if note.code in CHANGES),
        mapping=tuple(mapping_row(row, audit) for row in audit.rows),
        parity=tuple(parity(verification.rows)) if verification is not None else (),
        prediction=prediction(audit, target),
        unverified=tuple(unverified(command, target, audit.precision, verification)),
        diagnostics=(*(n for n in notes if n.code not in CHANGES), *found, *audit.diagnostics),
    )


def source_facts(opened: Opened, plan: PackagePlan) -> SourceFacts:
    """What was read."""
    facts = opened.description
    return SourceFacts(
        name=opened.name,
        format=facts.format,
        sha256=opened.sha256,
        producer=facts.producer,
        opsets=facts.opsets,
        inputs=tuple(TensorFacts(name=s.name, shape=s.shape, dtype=s.dtype) for s in plan.inputs),
        outputs=tuple(TensorFacts(name=s.name, shape=s.shape, dtype=s.dtype) for s in plan.outputs),
        operators=facts.operators,
        oddities=facts.oddities,
    )


def inventory(plan: PackagePlan) -> Inventory:
    """Every tensor of the package and where it came from."""
    weights = (
        _copied(
            Weight,
            tensor,
            name=tensor.key,
            role="parameter" if tensor.weight.role == "parameter" else "buffer",
            trainable=tensor.weight.trainable,
            source=tensor.weight.source,
        )
        for tensor in plan.tensors
    )
    return Inventory(weights=tuple(weights))


def change(note: Diagnostic) -> Change:
    """A note of the graph as something that was changed."""
    return Change(what=note.what, why=note.why, code=note.code, nodes=(note.where,) if note.where else ())


def mapping_row(row: AuditRow, audit: Audit) -> MappingRow:
    """An operator of the step on the target."""
    seconds = None if audit.cost.unknown else row.seconds
    return _copied(MappingRow, row, nodes=row.sources, why="; ".join(reasons(row, audit.fused)), seconds=seconds)


def reasons(row: AuditRow, fused: Iterable[FusedMapping]) -> Iterator[str]:
    """What an operator is composed of, what the target lacks for it, and which fused kernels could take it."""
    if row.refused_dtypes:
        yield f"the target does not compute in {', '.join(row.refused_dtypes)}"
    if row.parts:
        yield f"as {', '.join(row.parts)}"
    if row.state == "fallback":
        yield f"{row.bytes:,} bytes of a step cross the link to the host"
    yield from (
        f"{kernel.kernel} ({kernel.provider}): {kernel.note}" for kernel in fused if row.operator in kernel.operators
    )


def parity(rows: Iterable[Any]) -> Iterable[ParityRow]:
    """The comparisons."""
    return (_copied(ParityRow, row) for row in rows)


def prediction(audit: Audit, target: Target) -> Prediction:
    """Step time and memory from the target's figures."""
    shares = sorted((r for r in audit.rows if r.seconds > 0), key=lambda r: -r.seconds)
    basis = f"roofline of {target.name}: launch + max(bytes / bandwidth, operations / peak rate), per operator"
    unknown = audit.cost.unknown
    capacity = target.memory_bytes.stated
    if unknown:
        basis = f"none for time: the profile of {target.name} does not know {', '.join(unknown)}"
    return Prediction(
        step_seconds=None if unknown else audit.cost.seconds,
        samples_per_second=None if unknown else audit.cost.samples_per_second,
        peak_bytes=audit.memory.peak,
        basis=basis,
        batch_size=audit.batch,
        capacity_bytes=None if capacity is None else int(capacity),
        memory=memory_split(audit),
        recomputed=recomputation(audit),
        shares=() if unknown else tuple(Share(operator=r.operator, seconds=r.seconds, bound=r.bound) for r in shares),
    )


def recomputation(audit: Audit) -> Recomputation | None:
    """What activation checkpointing would save and cost; None where no block repeats."""
    found = audit.recomputed
    if found is None:
        return None
    return Recomputation(
        blocks=len(found.blocks),
        saved_bytes=found.saved_activations,
        peak_bytes=found.peak,
        seconds=None if audit.cost.unknown else audit.recompute_seconds,
    )


def memory_split(audit: Audit) -> dict[str, int]:
    """The parts of the predicted peak."""
    memory = audit.memory
    return {
        "parameters": memory.parameters,
        "buffers": memory.buffers,
        "gradients": memory.gradients,
        "optimizer state": memory.optimizer_state,
        "saved activations": memory.saved_activations,
    }


def unverified(command: str, target: Target, precision: str, verification: Any) -> Iterable[Unverified]:
    """What the run could not establish."""
    if command == "convert" and verification is None:
        yield Unverified(what="parity with the source", why="--no-verify was given", todo="convert without --no-verify")
    if verification is not None:
        for note in verification.notes:
            yield Unverified(what="part of the verification", why=note)
        if not verification.trained:
            yield Unverified(
                what="outputs in training mode",
                why="the source's engine runs evaluation; only momentum, epsilon and dropout rates were held against it",
            )
    if precision != "fp32":
        yield Unverified(what=f"numbers in {precision}", why="the comparison with the source is in float32")
    yield Unverified(
        what=f"speed and memory on {target.name}",
        why="predicted from the target's figures, not measured",
        todo=f"python -m NAME train --device {target.device_name}",
    )


def verdict(command: str, audit: Audit, options: Options, verification: Any) -> Verdict:
    """How the run ended, and the exit status that says so."""
    if verification is not None and not verification.passed:
        return Verdict(outcome="parity_failed", exit_status=Exit.PARITY, reason=verification.reason)
    status = Exit.DEGRADED if options.strict and audit.degraded else Exit.OK
    if command == "check" or not audit.trains:
        outcome = "cannot_train" if not audit.trains else "degraded" if audit.degraded else "trains"
        return Verdict(outcome=outcome, exit_status=status, reason=audit.verdict)
    outcome = "verified" if verification is not None else "unverified"
    return Verdict(outcome=outcome, exit_status=status, reason=audit.verdict)
