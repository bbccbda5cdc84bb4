"""Tries one implementation against the reference: is it right (values and gradients), is it faster. Chooses nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from . import registry
from .request import Call, Like, map_tensors, tensors

Run = Callable[..., Any]

SEED = 20
MIN_SECONDS = 2e-3  # one timed repeat: long enough for the clock, short enough to alternate within one burst of noise


def draw(call: Call) -> list[Any]:
    """Host arguments for a call, always the same: normal values, or what the reference's own `draw` makes of them."""
    generator = torch.Generator().manual_seed(SEED)

    def fill(like: Like) -> Tensor:
        if like.dtype.is_floating_point:
            return torch.randn(like.shape, generator=generator).to(like.dtype)
        return torch.zeros(like.shape, dtype=like.dtype)

    args = map_tensors(fill, call.args)
    special = getattr(registry.module(f"reference/{call.request.kernel}"), "draw", None)
    return special(args, generator) if special else args


def _autocast(call: Call) -> AbstractContextManager[Any]:
    dtype = getattr(torch, call.request.autocast) if call.request.autocast else None
    return torch.autocast(call.request.device, dtype=dtype, enabled=dtype is not None)


def _spread(tensor: Tensor) -> Tensor:
    """The same values with gaps between them in memory."""
    return torch.stack((tensor, tensor), -1)[..., 0] if tensor.dim() else tensor


def prepare(
    call: Call, args: list[Any], device: torch.device, *, double: bool = False, spread: bool = False
) -> list[Any]:
    """A fresh copy of host `args` on `device` that wants the gradients the call wanted."""
    wanted = iter(list(_likes(call.args)))

    def place(tensor: Tensor) -> Tensor:
        like = next(wanted)
        floating = tensor.is_floating_point()
        moved = tensor.to(device=device, dtype=torch.float64 if double and floating else tensor.dtype, copy=True)
        moved = _spread(moved) if spread else moved
        return moved.detach().requires_grad_(like.requires_grad and call.request.grad)

    return map_tensors(place, args)


def _likes(args: Any) -> list[Like]:
    found: list[Like] = []
    map_tensors(lambda like: found.append(like), args)
    return found


def _outputs(result: Any) -> list[Tensor]:
    return list(tensors(result if isinstance(result, (list, tuple)) else [result]))


def forward_backward(run: Run, args: list[Any]) -> list[Tensor]:
    """Outputs, gradients of the tensors that want one (along fixed random directions), and the arguments afterwards."""
    outputs = _outputs(run(*args))
    leaves = [t for t in tensors(args) if t.requires_grad]
    roots = [t for t in outputs if t.requires_grad]
    generator = torch.Generator().manual_seed(SEED + 1)
    along = [torch.randn(t.shape, generator=generator, dtype=torch.float64).to(t) for t in roots]
    grads = torch.autograd.grad(roots, leaves, along, materialize_grads=True) if leaves and roots else ()
    return [t.detach() for t in (*outputs, *grads, *tensors(args))]


def difference(found: list[Tensor], truth: list[Tensor]) -> float:
    """The largest difference relative to the largest true value, over all tensors; infinite where NaNs differ."""
    worst = 0.0
    for got, want in zip(found, truth, strict=True):
        got, want = got.cpu().double(), want.cpu().double()
        if not torch.equal(torch.isfinite(got), torch.isfinite(want)):
            return math.inf
        if want.numel():
            scale = max(want.nan_to_num(0, 0, 0).abs().max().item(), torch.finfo(torch.float32).tiny)
            worst = max(worst, (got - want).nan_to_num(0, 0, 0).abs().max().item() / scale)
    return worst


def _kinds(found: list[Tensor]) -> list[tuple[torch.Size, torch.dtype]]:
    return [(t.shape, t.dtype) for t in found]


def _smaller(call: Call) -> Call | None:
    """The same call with each size that leads some tensor less by one, wherever it occurs; None where the kernel forbids it.

    One verdict speaks for a range of sizes, so a kernel that is right only for multiples of its block must not pass.
    """
    likes = _likes(call.args)
    leading = {size for like in likes for size in like.shape[: -1 if like.dtype.is_floating_point else None]}

    def shrink(like: Like) -> Like:
        return replace(like, shape=tuple(s - 1 if s in leading and s > 2 else s for s in like.shape))

    smaller = replace(call, args=tuple(map_tensors(shrink, call.args)))
    try:
        registry.REFERENCE[call.request.kernel](*draw(smaller))
    except (RuntimeError, ValueError):
        return None
    return smaller


def _compare(call: Call, reference: Run, run: Run, spread: bool) -> tuple[float, float, str | None]:
    args = draw(call)
    truth = forward_backward(reference, prepare(call, args, next(tensors(args)).device, double=True))
    with _autocast(call):
        expected = forward_backward(reference, prepare(call, args, call.device, spread=spread))
        got = forward_backward(run, prepare(call, args, call.device, spread=spread))
    if _kinds(got) != _kinds(expected):
        return math.inf, 0.0, f"wrong: shapes and dtypes are {_kinds(got)}, expected {_kinds(expected)}"
    worst, own = difference(got, truth), difference(expected, truth)
    limit = 4 * max(own, _unit(call))
    return worst, own, None if worst <= limit else f"wrong: error {worst:.1e}, allowed {limit:.1e}"


def errors(call: Call, reference: Run, run: Run) -> tuple[float, float, str | None]:
    """(error, the reference's own error, what is wrong or None): the worst as called, with gaps in memory, and smaller.

    Wrong is more than four times the reference's error and than four units of the coarsest dtype in play: what another
    order of summation may cost, far below what a mistake costs.
    """
    smaller = _smaller(call)
    cases = [("", call, False), (" with gaps in memory", call, True)]
    cases += [(" with sizes less by one", smaller, False)] if smaller else []
    worst, own = 0.0, 0.0
    for where, case, spread in cases:
        found, expected, wrong = _compare(case, reference, run, spread)
        worst, own = max(worst, found), max(own, expected)
        if wrong:
            return worst, own, wrong + where
    return worst, own, None


def _unit(call: Call) -> float:
    names = [*call.request.dtypes, *([call.request.autocast] if call.request.autocast else [])]
    dtypes = [getattr(torch, name) for name in names]
    coarsest = max(torch.finfo(d).eps for d in dtypes if d.is_floating_point)
    exact = torch.finfo(torch.float64).eps
    return 16 * exact if coarsest == exact else coarsest  # the truth, in float64, is no more exact than such a call


def _seconds(call: Call, run: Run, args: list[Any], count: int) -> float:
    synchronize = torch.get_device_module(call.device).synchronize
    leaves = [t for t in tensors(args) if t.requires_grad]
    synchronize()
    start = perf_counter()
    for _ in range(count):
        roots = [t for t in _outputs(run(*args)) if t.requires_grad]
        if roots and leaves:
            torch.autograd.grad(roots, leaves, [torch.ones_like(t) for t in roots], allow_unused=True)
    synchronize()
    return (perf_counter() - start) / count


def ratios(call: Call, reference: Run, run: Run, repeats: int) -> list[float]:
    """Reference time over the implementation's, once a repeat, in alternating order after a warm-up, sorted."""
    args = prepare(call, draw(call), call.device)
    with _autocast(call):
        for warm in (reference, run):
            _seconds(call, warm, args, 2)
        count = max(1, math.ceil(MIN_SECONDS / _seconds(call, reference, args, 1)))
        found: list[float] = []
        for repeat in range(repeats):
            pair = (reference, run) if repeat % 2 == 0 else (run, reference)
            taken = {side: _seconds(call, side, args, count) for side in pair}
            found.append(taken[reference] / taken[run])
    return sorted(found)
