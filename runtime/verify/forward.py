"""Compares a module's evaluation with golden outputs, as it is and with its parameters changed.

Knows no device by name.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ..hal import Device
from ..package import TensorSpec
from .golden import GoldenCase, host
from .objective import logits_of
from .outcome import Check, measured
from .perturb import perturb
from .unchanged import unchanged
from .without_dropout import WithoutDropout

TOLERANCES = {torch.float64: 1e-4, torch.float32: 1e-4, torch.float16: 5e-3, torch.bfloat16: 2e-2}
"""Largest difference relative to the largest expected value, by the coarser dtype of the two sides."""

ROUNDED = 1e-3
"""Least scale of other probabilities: a rounding error of 6e-8, half the last place before 1, within the tolerance."""

VARIATION = 1e-5
"""Outputs that differ less than this over the batch, relative to the largest, say nothing about the model."""


def tolerance(expected: Tensor, actual: Tensor) -> float:
    """How far `actual` may be off, relative to the largest of `expected`; 0 for integers and booleans."""
    return max(TOLERANCES.get(expected.dtype, 0.0), TOLERANCES.get(actual.dtype, 0.0))


def relative_error(expected: Tensor, actual: Tensor, least_scale: float = 0.0) -> float:
    """The largest difference relative to the largest expected value, equal infinities and NaNs counting as equal.

    `least_scale` is what the largest expected value counts as where it is smaller.
    """
    if expected.shape != actual.shape:
        return float("inf")
    if expected.numel() == 0:
        return 0.0
    a, b = expected.double(), actual.double()
    same = (a == b) | (a.isnan() & b.isnan())
    difference = torch.where(same, torch.zeros_like(a), (a - b).abs())
    scale = a[a.isfinite()].abs().max().item() if a.isfinite().any() else 1.0
    largest = difference.max().item()
    return largest / (max(scale, least_scale) or 1.0)


def _compare(name: str, expected: Tensor, actual: Tensor, least_scale: float = 0.0) -> Check:
    limit = tolerance(expected, actual)
    if expected.shape != actual.shape:
        detail = f"shape {list(actual.shape)}, expected {list(expected.shape)}"
        return Check(name=name, passed=False, error=float("inf"), tolerance=limit, detail=detail)
    return measured(name, relative_error(expected, actual, least_scale), limit)


def _logits(module: nn.Module, case: GoldenCase, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """As many logits as the case has, those of the first outputs."""
    if not case.logits:
        return ()
    with unchanged(module), WithoutDropout():
        return host(logits_of(module, inputs))[: len(case.logits)]


def _evaluated(module: nn.Module, inputs: Sequence[Tensor]) -> Any:
    """What the module gives, with what it draws in evaluation as well left out, and what it changes of itself taken back."""
    with unchanged(module), WithoutDropout(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return module(*inputs)


@torch.no_grad()
def check_case(module: nn.Module, case: GoldenCase, device: Device, outputs: Sequence[TensorSpec]) -> list[Check]:
    """Every output of one case, and its logits where they are given.

    Args:
        module: in evaluation mode, on `device`; a perturbed case changes a copy.
        case: inputs and expected values on the host.
        device: where `module` is.
        outputs: gives the outputs their names.
    """
    if case.sigma:
        module = copy.deepcopy(module)
        perturb(module, case.seed, case.sigma)
    inputs = tuple(tensor.to(device.torch_device) for tensor in case.inputs)
    actual = host(_evaluated(module, inputs))
    if len(actual) != len(case.outputs):
        detail = f"{len(actual)} outputs, expected {len(case.outputs)}"
        return [Check(name=f"{case.name}: outputs", passed=False, detail=detail)]
    named = [spec.name for spec in outputs] if len(outputs) == len(actual) else [str(i) for i in range(len(actual))]
    # Where the logits are compared, a probability is held to the scale of 1: engines differ in its smallest values.
    scales = [float(index < len(case.logits)) for index in range(len(actual))]
    if len(outputs) == len(actual):
        scales = [max(s, ROUNDED * spec.probability) for s, spec in zip(scales, outputs, strict=True)]
    checks = [
        _compare(f"{case.name}: {name}", expected, tensor, scale)
        for name, expected, tensor, scale in zip(named, case.outputs, actual, scales, strict=True)
    ]
    for index, (expected, tensor) in enumerate(zip(case.logits, _logits(module, case, inputs), strict=True)):
        checks.append(_compare(f"{case.name}: logits {index}", expected, tensor))
    return checks


def _variation(tensor: Tensor, axis: int) -> float:
    values = tensor.double().movedim(axis, 0)
    scale = values.abs().max().item() or 1.0
    return (values - values[:1]).abs().max().item() / scale


def _variations(case: GoldenCase, outputs: Sequence[TensorSpec]) -> Iterator[float]:
    axes = [spec.batch_axis for spec in outputs] if len(outputs) == len(case.outputs) else [0] * len(case.outputs)
    for expected, axis in (*zip(case.outputs, axes, strict=True), *zip(case.logits, axes, strict=False)):
        if axis is not None and axis < expected.ndim and expected.shape[axis] > 1 and expected.numel():
            yield _variation(expected.nan_to_num(), axis)


def check_variation(cases: Sequence[GoldenCase], outputs: Sequence[TensorSpec]) -> Check:
    """Whether the expected outputs depend on the input at all: they vary over the batch in at least one case.

    Where no case has a batch above one, two cases with outputs of equal shapes must differ.
    """
    found = [variation for case in cases for variation in _variations(case, outputs)]
    over = "over the batch"
    if not found:
        over = "between cases of batch 1"
        plain = [case for case in cases if not case.sigma]
        found = [
            relative_error(a, b)
            for first, second in pairwise(plain)
            for a, b in zip(first.outputs, second.outputs, strict=True)
            if a.shape == b.shape
        ]
    largest = max(found, default=0.0)
    return Check(
        name="outputs vary",
        passed=largest > VARIATION,
        detail=f"by {largest:.1e} {over}" if found else "no case has a batch above 1, and no two can be compared",
    )
