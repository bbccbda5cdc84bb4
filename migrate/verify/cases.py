"""Which cases a package is held to: batches, sizes and perturbations, and the inputs of each.

The choice depends on the model alone, never on a clock: converting twice gives equal bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from migrate.errors import Diagnostic
from migrate.graph import Dim, Graph
from migrate.graph.ir import tensors_in
from migrate.graph.placeholder import has_placeholder_weights
from migrate.graph.sizes import at
from migrate.verify.contract import Plan

if TYPE_CHECKING:
    from torch import Tensor

SIGMAS = (0.01, 0.05)
COSTLY = 20e9
"""Floating-point operations of one sample from which on the float64 checks run on one sample."""
VERY_COSTLY = 200e9
"""... and from which on only the smallest batch is tried."""
_GRID = 32
"""Free sizes are mostly multiples of this, since strides must divide them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePlan:
    """One case before it is run; `seed` is that of the inputs and of the perturbation."""

    name: str
    batch: int | None
    seed: int
    sigma: float = 0.0
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    optional: bool = False


def operations_per_sample(graph: Graph) -> float:
    """Floating-point operations of the layers with weights at the first sampled sizes, for one sample."""
    total = 0.0
    for node in graph.all_nodes:
        weights = [v for v in tensors_in(node.args) if v.weight is not None and v.rank > 1]
        if not weights or node.op.name == "embedding":
            continue
        outputs = math.prod(int(at(s, 0)) for s in node.outputs[0].shape)
        per_output = max(math.prod(int(at(s, 0)) for s in w.shape[1:]) for w in weights)
        total += 2.0 * outputs * per_output
    return total / (graph.batch.values[0] if isinstance(graph.batch, Dim) else 1)


def plan_cases(plan: Plan, graph: Graph, batches: Sequence[int], seed: int) -> tuple[list[CasePlan], list[Diagnostic]]:
    """The cases in the order in which they run, and notes on what was left out for its cost."""
    sizes = dict(plan.sizes)
    if all(spec.batch_axis is None for spec in plan.inputs):
        plain = [CasePlan(name=f"sample{i}", batch=None, seed=seed + i, sizes=sizes) for i in (1, 2)]
        return plain + _perturbed_cases(None, seed, sizes), []
    cost = operations_per_sample(graph)
    notes: list[Diagnostic] = []
    chosen = list(batches)
    if cost >= VERY_COSTLY:
        notes.append(_note(f"batches {chosen[1:]} were not tried", cost))
        chosen = chosen[:1]
    cases = [CasePlan(name=f"batch{b}", batch=b, seed=seed + b, sizes=sizes) for b in chosen]
    if cost >= COSTLY:
        notes.append(_note("the gradient checks run on one sample", cost))
        cases.insert(0, CasePlan(name="batch1", batch=1, seed=seed + 1, sizes=sizes))
    other = other_sizes(plan)
    if other is not None and cost < COSTLY:
        cases.append(CasePlan(name="sizes", batch=chosen[0], seed=seed + 100, sizes=other, optional=True))
    cases += _perturbed_cases(chosen[0], seed, sizes)
    if has_placeholder_weights(graph):  # their outputs hardly depend on the input: other weights must be tried
        cases.append(CasePlan(name="redrawn", batch=chosen[0], seed=seed + 2000, sigma=1.0, sizes=sizes))
    return cases, notes


def _perturbed_cases(batch: int | None, seed: int, sizes: dict[str, int]) -> list[CasePlan]:
    return [
        CasePlan(name=f"perturbed{round(sigma * 100)}", batch=batch, seed=seed + 1000 + i, sigma=sigma, sizes=sizes)
        for i, sigma in enumerate(SIGMAS)
    ]


def other_sizes(plan: Plan) -> dict[str, int] | None:
    """Free sizes that were not used to build the graph, so that a chance agreement between two sizes shows."""
    axes = {s for spec in plan.inputs for i, s in enumerate(spec.shape) if isinstance(s, str) and i != spec.batch_axis}
    free = sorted(axes)
    if not free:
        return None
    step = {name: _GRID if plan.sizes[name] % _GRID == 0 else 1 for name in free}
    return {**plan.sizes, **{name: plan.sizes[name] + step[name] * (2 * i + 1) for i, name in enumerate(free)}}


def draw_inputs(plan: Plan, case: CasePlan) -> tuple[Tensor, ...]:
    """Synthetic inputs as the package itself draws them; values that the model branches on in turn, case by case."""
    import torch

    from runtime.package import TensorSpec

    generator = torch.Generator().manual_seed(case.seed)
    specs = [
        TensorSpec(
            name=s.name,
            shape=s.shape,
            dtype=s.dtype,
            high=s.high,
            batch_axis=s.batch_axis,
            rows=s.rows,
            mean=s.mean,
            deviation=s.deviation,
        )
        for s in plan.inputs
    ]
    drawn = [spec.draw(case.sizes, case.batch or 1, generator) for spec in specs]
    choices: list[tuple[int, ...]] = [getattr(spec, "choices", ()) for spec in plan.inputs]
    chosen = [values[case.seed % len(values)] if values else None for values in choices]
    return tuple(t.fill_(c) if isinstance(c, int) else t for t, c in zip(drawn, chosen, strict=True))


def _note(what: str, cost: float) -> Diagnostic:
    return Diagnostic(
        code="MIG506",
        severity="note",
        what=what,
        why=f"one sample takes {cost / 1e9:.0f} billion floating-point operations",
        todo="run `python -m NAME verify` on a fast device for more",
    )
