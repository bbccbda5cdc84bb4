"""Selection by proof: an implementation is chosen only where it was shown to be right and faster, with the evidence.

Measuring happens in `prove` alone, which a program calls before its first step; calls never trigger it. `load` takes
recorded verdicts without measuring, so that a resumed run computes with the kernels it began with. Knows no kernel in
particular.
"""

from __future__ import annotations

import platform
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import torch

from . import dispatch, registry, trial, verdict
from .request import Call, Request
from .verdict import Verdict

MARGIN = 0.05
REPEATS = 9

_verdicts: dict[tuple[Request, str], Verdict] = {}


def machine(device: torch.device) -> str:
    """What a measurement depends on besides the implementation: PyTorch, the device's name and the host's vector unit."""
    about = torch.get_device_module(device)
    if hasattr(about, "get_device_name"):
        name = about.get_device_name(device)
    else:
        known = about.get_capabilities() if hasattr(about, "get_capabilities") else {}
        name = f"{known.get('cpu_name', 'processor')} {platform.machine()}"
    return f"torch {torch.__version__}, {name}, {torch.backends.cpu.get_cpu_capability()}, {platform.system()}"


def judge(
    call: Call, implementation: registry.Implementation, repeats: int = REPEATS, margin: float = MARGIN
) -> Verdict:
    """Try one implementation; `chosen` says that it may be used.

    It must be right in every case that `trial.errors` tries, at least `margin` faster in the median of the repeats,
    and slower in at most one repeat of eight.
    """
    reference = registry.REFERENCE[call.request.kernel]
    known = Verdict(
        request=call.request,
        implementation=implementation.name,
        chosen=False,
        reason=implementation.problem or "",
        machine=machine(call.device),
        source=implementation.source,
    )
    if implementation.problem:
        return known
    try:
        error, own, wrong = trial.errors(call, reference, implementation.run)
    except Exception as fault:  # any failure of a foreign kernel is a verdict on it, not a failure of the run
        return replace(known, reason=f"failed: {type(fault).__name__}: {fault}")
    known = replace(known, error=error, reference_error=own, reason=wrong or "")
    if wrong:
        return known
    speed = trial.ratios(call, reference, implementation.run, repeats)
    middle, lost = statistics.median(speed), sum(ratio < 1 for ratio in speed)
    faster = middle >= 1 + margin and lost <= repeats // 8
    reason = "right and faster" if faster else f"not faster by {margin:.0%} (lost {lost} of {repeats} repeats)"
    return replace(known, chosen=faster, reason=reason, speedup=middle, slowest=speed[0], fastest=speed[-1])


def _keep_best(found: list[Verdict]) -> list[Verdict]:
    best = max((v for v in found if v.chosen), key=lambda v: v.speedup or 0.0, default=None)
    if best is None:
        return found
    beaten = f"{best.implementation} is faster"
    return [replace(v, chosen=False, reason=beaten) if v.chosen and v is not best else v for v in found]


def _still_holds(known: Verdict, implementation: registry.Implementation, device: torch.device) -> bool:
    return known.source == implementation.source and known.machine == machine(device)


def _decide(call: Call, repeats: int, margin: float) -> list[Verdict]:
    """Verdicts on all candidates; known ones are kept only if all of them still hold, since they were compared together."""
    options = registry.candidates(call.request.kernel, call.device)
    known = [_verdicts.get((call.request, option.name)) for option in options]
    held = [v for v, option in zip(known, options, strict=True) if v and _still_holds(v, option, call.device)]
    if len(held) == len(options):
        return held
    return _keep_best([judge(call, option, repeats, margin) for option in options])


def prove(
    calls: Iterable[Call] | Mapping[Request, Call],
    store: Path | None = None,
    *,
    repeats: int = REPEATS,
    margin: float = MARGIN,
) -> list[Verdict]:
    """Measure every candidate for these calls, use the winners from now on, and record the evidence.

    Args:
        calls: what `observe` collected, or `Call.of(...)` by hand.
        store: a JSON file; what it already holds for this machine is not measured again, and the rest is added.
        repeats: timed pairs for each candidate.
        margin: by how much the median must be faster.

    Returns:
        The verdicts on these calls.
    """
    if store is not None and store.is_file():
        _remember(verdict.read(store))
    found: list[Verdict] = []
    for call in calls.values() if isinstance(calls, Mapping) else calls:
        decided = _decide(call, repeats, margin)
        dispatch.forget(call.request)
        activate(decided, call.device)
        found += decided
    if store is not None:
        save(store)
    return found


def _remember(found: Iterable[Verdict]) -> None:
    _verdicts.update({(v.request, v.implementation): v for v in found})


def activate(found: Iterable[Verdict], device: torch.device) -> list[Verdict]:
    """Use the chosen ones of recorded verdicts; returns those that do not hold here (other machine, PyTorch or source).

    In distributed training the first process proves and sends its verdicts, and all activate them, so that all ranks
    compute with the same kernels.
    """
    stale: list[Verdict] = []
    for known in found:
        if known.request.device != device.type:
            continue
        if not (registry.ROOT / f"{known.implementation}.py").is_file():
            stale.append(known)
            continue
        implementation = registry.load(known.implementation, device)
        if not _still_holds(known, implementation, device) or (known.chosen and implementation.problem):
            stale.append(known)
            continue
        _remember([known])
        if known.chosen:
            dispatch.choose(known.request, implementation.run)
    return [v for v in stale if v.chosen]


def load(store: Path, device: torch.device) -> list[Verdict]:
    """`activate` what a file recorded, measuring nothing; a missing file holds nothing."""
    return activate(verdict.read(store), device) if store.is_file() else []


def save(store: Path) -> None:
    """Write all verdicts of this process."""
    verdict.write(store, _verdicts.values())


def reset() -> None:
    """Forget all verdicts and choices: every call runs its reference."""
    _verdicts.clear()
    dispatch.forget()


def explain(kernel: str, device: torch.device) -> list[Verdict]:
    """All verdicts of this process on `kernel` for this type of device; `table` prints them."""
    return [v for v in _verdicts.values() if v.request.kernel == kernel and v.request.device == device.type]
