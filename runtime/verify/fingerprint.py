"""Two numbers for each parameter's gradient: enough to see on another device that the gradients are the same there.

Knows no device by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from .double import double, double_copy, widened
from .golden import GoldenCase, GoldenGradients, GradientMark
from .objective import coefficients, evaluate, objective
from .outcome import Check, measured
from .perturb import noise

LEAST_TOLERANCE = 1e-4
OWN_NOISE = 5.0
"""How many times the module's own float32 rounding error is tolerated."""


def _marks(
    module: nn.Module, inputs: Sequence[Tensor], seed: int, context: Callable[[], AbstractContextManager[Any]]
) -> dict[str, GradientMark]:
    """Gradient marks of a module in evaluation mode; a trainable parameter without a gradient has the norm 0.

    `context` surrounds what the module itself computes.
    """
    trainable = {name: p for name, p in module.named_parameters() if p.requires_grad}
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        with context():
            outputs = evaluate(module, inputs)
        value = objective(outputs, coefficients(outputs, seed))
        with context():
            gradients: list[Tensor | None] = list(
                torch.autograd.grad(value, list(trainable.values()), allow_unused=True)
            )
    marks: dict[str, GradientMark] = {}
    for name, gradient in zip(trainable, gradients, strict=True):
        if gradient is None:
            marks[name] = GradientMark(norm=0.0, dot=0.0)
            continue
        values, direction = gradient.detach().cpu().double(), noise(name, gradient.shape, seed)
        dot = (values * direction).sum() / direction.norm().clamp_min(1e-300)
        marks[name] = GradientMark(norm=values.norm().item(), dot=dot.item())
    return marks


def _global_norm(marks: dict[str, GradientMark]) -> float:
    return math.sqrt(sum(mark.norm**2 for mark in marks.values()))


def _largest_difference(a: dict[str, GradientMark], b: dict[str, GradientMark]) -> tuple[float, str]:
    """The largest difference of one parameter's two numbers, and that parameter; a NaN is the largest."""
    differences = {name: math.hypot(a[name].norm - b[name].norm, a[name].dot - b[name].dot) for name in a}
    not_a_number = [name for name, difference in differences.items() if math.isnan(difference)]
    if not_a_number:
        return math.nan, not_a_number[0]
    where = max(differences, key=differences.__getitem__, default="")
    return differences.get(where, 0.0), where


def golden_gradients(module: nn.Module, case: GoldenCase, seed: int = 0) -> GoldenGradients:
    """The marks to store: those of the float64 copy, with a tolerance from how far float32 is off on the host.

    Args:
        module: on the host, in evaluation mode, already known to be right.
        case: one without perturbation.
        seed: of the objective and of the random vectors.
    """
    exact = _marks(double_copy(module), [double(t) for t in case.inputs], seed, widened)
    norm = _global_norm(exact)
    rounding = _largest_difference(exact, _marks(module, case.inputs, seed, nullcontext))[0] / (norm or 1.0)
    return GoldenGradients(
        case=case.name,
        seed=seed,
        tolerance=max(OWN_NOISE * rounding, LEAST_TOLERANCE),
        global_norm=norm,
        parameters=exact,
    )


def check_fingerprint(module: nn.Module, golden: GoldenGradients, inputs: Sequence[Tensor]) -> Check:
    """Whether the gradients of `module`, on its device with `inputs` there too, have the stored marks."""
    marks = _marks(module, inputs, golden.seed, nullcontext)
    if marks.keys() != golden.parameters.keys():
        different = sorted(marks.keys() ^ golden.parameters.keys())
        detail = f"other trainable parameters than stored: {', '.join(different[:5])}"
        return Check(name="gradient: stored marks", passed=False, detail=detail)
    worst, where = _largest_difference(golden.parameters, marks)
    error = worst / (golden.global_norm or 1.0)
    return measured("gradient: stored marks", error, golden.tolerance, f"largest at {where}" if where else "")
