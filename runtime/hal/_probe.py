"""Finds out by running whether a dtype works on a device, and how fast it is. Knows no device by name."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from .base import DtypeVerdict

if TYPE_CHECKING:
    from .base import Device

MAX_SLOWDOWN = 4.0
"""A dtype that takes longer than this many times float32 is not worth its memory."""

_ROUNDINGS = 16
"""How many units in the last place a small step may be off by."""

_COARSEST_UNIT = 2.0**-11
"""Matrix units round float32 to tf32 by default on some devices; that is no fault."""

_REPEATS = 3


def _small_step(device: torch.device, dtype: torch.dtype) -> list[Tensor]:
    """A convolution, a reduction, a matmul on a transposed operand and an optimizer step, as CPU float32 results."""
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        # rounded first, so that only arithmetic differs between dtypes
        return torch.randn(shape, generator=generator).to(torch.bfloat16).to(dtype).to(device)

    image, kernel, weight = draw(4, 8, 9, 9), draw(16, 8, 3, 3), draw(12, 16)
    kernel.requires_grad_()
    weight.requires_grad_()
    optimizer = torch.optim.SGD([kernel, weight], lr=0.5, momentum=0.9)
    logits = F.conv2d(image, kernel, padding=1).relu().mean((2, 3)) @ weight.t()
    loss = F.log_softmax(logits, -1).square().mean()
    loss.backward()
    assert kernel.grad is not None and weight.grad is not None
    gradients = [kernel.grad.clone(), weight.grad.clone()]
    optimizer.step()
    return [t.detach().cpu().float() for t in (logits, loss, *gradients, kernel, weight)]


def _largest_error(results: list[Tensor], expected: list[Tensor]) -> float:
    errors = [(a - b).norm().item() / b.norm().item() for a, b in zip(results, expected, strict=True)]
    return max(errors) if all(error == error for error in errors) else float("nan")


def _check_exact(device: torch.device, dtype: torch.dtype) -> None:
    """Integers and booleans: copy there and back, compare, select and add up."""
    values = torch.tensor([0, 1, 1, 0, 1], dtype=dtype)
    there = values.to(device)
    ones = torch.where(there == torch.ones_like(there), there, torch.zeros_like(there))
    if not torch.equal(torch.cat([ones, there]).cpu(), torch.cat([values, values])) or there.sum().item() != 3:
        raise ArithmeticError("wrong results")


def matmul_seconds(device: Device, dtype: torch.dtype) -> float:
    """The least time of a square matmul, forward and backward, of `device.probe_size` rows."""
    size = device.probe_size
    left, right = (torch.ones(size, size, dtype=dtype, device=device.torch_device) for _ in range(2))
    left.requires_grad_()
    best = float("inf")
    for _ in range(1 + _REPEATS):
        left.grad = None
        device.synchronize()
        start = time.perf_counter()
        (left @ right).sum().backward()
        device.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def _probe_float(device: Device, dtype: torch.dtype, float32_seconds: float) -> DtypeVerdict:
    results = _small_step(device.torch_device, dtype)
    error = _largest_error(results, _small_step(torch.device("cpu"), torch.float32))
    limit = _ROUNDINGS * max(torch.finfo(dtype).eps, _COARSEST_UNIT)
    if not error <= limit:
        reason = f"a small training step is off by {error:.1e}; rounding explains {limit:.1e}"
        return DtypeVerdict(dtype=dtype, works=False, fast=False, error=error, reason=reason)
    slowdown = device.matmul_seconds(dtype) / float32_seconds if dtype != torch.float32 else 1.0
    fast = slowdown <= MAX_SLOWDOWN
    reason = "" if fast else f"a matmul takes {slowdown:.0f} times as long as in float32"
    return DtypeVerdict(dtype=dtype, works=True, fast=fast, slowdown=slowdown, error=error, reason=reason)


def _probe_one(device: Device, dtype: torch.dtype, float32_seconds: float) -> DtypeVerdict:
    try:
        if dtype.is_floating_point:
            return _probe_float(device, dtype, float32_seconds)
        _check_exact(device.torch_device, dtype)
    # a device may refuse with any kind of exception; whichever it is, the dtype does not work
    except Exception as refusal:
        reason = f"{type(refusal).__name__}: {str(refusal).partition(chr(10))[0]}"
        return DtypeVerdict(dtype=dtype, works=False, fast=False, reason=reason)
    return DtypeVerdict(dtype=dtype, works=True, fast=True)


def probe(device: Device, dtypes: Sequence[torch.dtype]) -> dict[torch.dtype, DtypeVerdict]:
    """Measure every dtype; the generators' states are left as they were."""
    if not dtypes:
        return {}
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        needs_time = any(dtype.is_floating_point for dtype in dtypes)
        float32_seconds = device.matmul_seconds(torch.float32) if needs_time else 0.0
        return {dtype: _probe_one(device, dtype, float32_seconds) for dtype in dtypes}
