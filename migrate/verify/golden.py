"""Runs the source on the planned cases and makes what the package is held to: golden cases and the expected inventory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from migrate.errors import Diagnostic, MigrateError
from migrate.graph import Graph
from migrate.graph.final import final_activation
from migrate.graph.reach import reached
from migrate.verify.cases import CasePlan, draw_inputs
from migrate.verify.contract import Array, Oracle, Plan, Target
from migrate.verify.overrides import perturbed_overrides

if TYPE_CHECKING:
    from torch import Tensor

    from runtime.verify.golden import GoldenCase, InventoryItem


@dataclass(slots=True, kw_only=True)
class Goldens:
    """What the source computed, by case name."""

    cases: list[GoldenCase] = field(default_factory=list["GoldenCase"])
    plans: dict[str, CasePlan] = field(default_factory=dict[str, CasePlan])
    notes: list[Diagnostic] = field(default_factory=list[Diagnostic])


def logits_names(plan: Plan, graph: Graph, oracle: Oracle) -> list[str]:
    """The source's values that the package's `logits()` returns, in order, as far as the source has them.

    `logits()` leaves a final softmax or sigmoid out where nothing else uses its result.
    """
    if not plan.has_logits:
        return []
    users = graph.users()
    names: list[str] = []
    for index, (value, output) in enumerate(zip(graph.outputs, oracle.output_names, strict=True)):
        final = final_activation(value, users) is not None
        name = oracle.logits_of(index) if final else output
        if name is None:
            break
        names.append(name)
    return names


def compute_goldens(plan: Plan, graph: Graph, oracle: Oracle, cases: list[CasePlan]) -> Goldens:
    """Run the source on every case; an optional case on which its engine fails becomes a note.

    Raises:
        MigrateError: the source's engine fails on a case that is not optional.
    """
    done = Goldens()
    logits = logits_names(plan, graph, oracle)
    for case in cases:
        overrides = perturbed_overrides(plan, graph, oracle, case.seed, case.sigma) if case.sigma else {}
        try:
            done.cases.append(_run(plan, oracle, case, overrides, logits))
        except MigrateError as fault:
            if not case.optional:
                raise
            done.notes.append(_not_legal(case, fault))
            continue
        done.plans[case.name] = case
    return done


def _run(plan: Plan, oracle: Oracle, case: CasePlan, overrides: dict[Target, Array], logits: list[str]) -> GoldenCase:
    from runtime.verify.golden import GoldenCase

    inputs = draw_inputs(plan, case)
    found = _values(oracle, [t.numpy() for t in inputs], [*oracle.output_names, *logits], overrides)
    outputs = tuple(_tensor(found[name]) for name in oracle.output_names)
    before = tuple(_tensor(found[name]) for name in logits)
    return GoldenCase(
        name=case.name,
        inputs=inputs,
        outputs=outputs,
        logits=tuple(
            b.reshape(o.shape) if b.numel() == o.numel() else b for b, o in zip(before, outputs, strict=False)
        ),
        seed=case.seed,
        sigma=case.sigma,
    )


def _values(oracle: Oracle, arrays: list[Array], names: list[str], overrides: dict[Target, Array]) -> dict[str, Array]:
    if names == oracle.output_names:
        return dict(zip(names, oracle.run(arrays, overrides), strict=True))
    return oracle.intermediates(arrays, names, overrides)


def _tensor(array: Array) -> Tensor:
    import torch

    return torch.from_numpy(np.array(array))


def expected_inventory(plan: Plan, graph: Graph) -> list[InventoryItem]:
    """What the state of the package must hold: the plan's tensors, and the counters that batch normalisation adds."""
    from runtime.verify.golden import InventoryItem

    # what else a graph does not use would be our own mistake
    unused = set(graph.state) - reached(graph)
    items = [
        InventoryItem(
            name=tensor.key,
            shape=tuple(tensor.shape),
            dtype=tensor.dtype,
            role="parameter" if tensor.weight.role == "parameter" else "buffer",
            trainable=tensor.weight.role == "parameter" and tensor.weight.trainable,
            used=tensor.value not in unused,
        )
        for tensor in plan.tensors
        if tensor.weight.persistent
    ]
    known = {item.name for item in items}
    for item in list(items):
        owner, _, last = item.name.rpartition(".")
        counter = f"{owner}.num_batches_tracked"
        if last == "running_mean" and f"{owner}.running_var" in known and counter not in known:
            items.append(InventoryItem(name=counter, shape=(), dtype="int64", role="buffer", trainable=False))
    return items


def uncovered_weights(plan: Plan, graph: Graph) -> list[str]:
    """Floating-point weights of rank 1 or more that the graph uses and the package's state lacks."""
    kept = {tensor.value for tensor in plan.tensors}
    sources = {(tensor.weight.source, tensor.weight.copy) for tensor in plan.tensors}
    return [
        value.name
        for value in graph.weights()
        if value.weight is not None
        and value.weight.source
        and value.weight.role == "parameter"
        and value not in kept
        and (value.weight.source, value.weight.copy) not in sources
    ]


def untrained_weights(plan: Plan, oracle: Oracle) -> list[str]:
    """Weights of the source's layers of which the package has no parameter, by their names in the source."""
    roles: dict[str, set[str]] = {}
    for tensor in plan.tensors:
        roles.setdefault(tensor.weight.source, set()).add(tensor.weight.role)
    learned = oracle.learned_weights()
    return [name for name in learned if name in roles and "parameter" not in roles[name]]


def _not_legal(case: CasePlan, fault: MigrateError) -> Diagnostic:
    sizes = ", ".join(f"{name} = {size}" for name, size in case.sizes.items())
    return Diagnostic(
        code="MIG505",
        severity="note",
        what="sizes other than those that the graph was built with were not verified",
        where=sizes,
        why=fault.diagnostics[0].why,
    )
