"""Central differences of the source itself, by its own engine in float32, along the package's gradient.

Supporting evidence only: rounding and kinks were seen to cost 4e-3 on one sound model. It never decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from migrate.graph import Graph
from migrate.verify.contract import Array, Oracle, Plan
from migrate.verify.facts import Row
from migrate.verify.overrides import Writer

if TYPE_CHECKING:
    from torch import Tensor

    from runtime.verify.golden import GoldenCase

THRESHOLD = 1e-3
CHANGES = (1e-2, 3e-3, 1e-3)
"""Changes of the objective; float32 needs far larger ones than float64."""
LARGEST_STEP = 0.02


def source_differences(
    case: GoldenCase,
    names: list[str],
    direction: Mapping[str, Tensor],
    slope: float,
    plan: Plan,
    graph: Graph,
    oracle: Oracle,
) -> Row | None:
    """The median error of three step sizes; None where the objective has no slope.

    Args:
        case: one without perturbation.
        names: the source's values that the objective sums up, in the order of the coefficients.
        direction: `parameter/KEY` and `coefficients/INDEX`, as `_in_package.py` wrote them.
        slope: the derivative along the direction that the package's gradient says.
    """
    if not slope:
        return None
    inputs = [t.numpy() for t in case.inputs]
    coefficients = [direction[f"coefficients/{i}"].numpy() for i in range(len(names))]
    moves = {k.removeprefix("parameter/"): t.numpy() for k, t in direction.items() if k.startswith("parameter/")}
    plain = {t.key: t.weight.array() for t in plan.tensors if t.key in moves}

    def objective(step: float) -> float:
        writer = Writer(plan=plan, graph=graph, oracle=oracle)
        moved: dict[str, Array] = {k: (plain[k] + step * moves[k]).astype(plain[k].dtype) for k in plain}
        values = oracle.intermediates(inputs, names, writer.write_all(moved))
        terms = zip(names, coefficients, strict=True)
        return sum(float(np.sum(c * values[n].astype(np.float64).reshape(c.shape))) for n, c in terms)

    errors: list[float] = []
    for change in CHANGES:
        step = min(change / abs(slope), LARGEST_STEP)
        found = (objective(step) - objective(-step)) / (2 * step)
        errors.append(abs(found - slope) / max(abs(slope), abs(found)))
    return _evidence(case, median(errors), oracle)


def _evidence(case: GoldenCase, error: float, oracle: Oracle) -> Row:
    return Row(
        check="gradient against differences of the source in float32 (supporting evidence, does not decide)",
        passed=error <= THRESHOLD,
        case=case.name,
        error=error,
        tolerance=THRESHOLD,
        metric="relative, median of three steps",
        engine=oracle.engine,
        decides=False,
    )
