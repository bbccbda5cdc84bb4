"""What runs when a kernel is called: the implementation chosen for this kind of call, else the reference.

Holds the choices of this process. Never measures: choices are made by `select` alone, so that no training step changes
its numbers by itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch._C._functorch import maybe_current_level
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from .registry import REFERENCE
from .request import Call, Request, requested

SWITCH = "MIGRATE_KERNELS"

_chosen: dict[str, dict[Request, Callable[..., Any]]] = {}
_observers: list[dict[Request, Call]] = []
_forced: list[None] = []


def choose(request: Request, run: Callable[..., Any]) -> None:
    """Let `run` answer calls of this class from now on."""
    _chosen.setdefault(request.kernel, {})[request] = run


def forget(request: Request | None = None) -> None:
    """Calls of this class, or all calls, run their references again."""
    if request is None:
        _chosen.clear()
    else:
        _chosen.get(request.kernel, {}).pop(request, None)


@contextmanager
def reference_only() -> Generator[None]:
    """Within it every kernel runs its reference. The same for a whole process: `MIGRATE_KERNELS=reference`."""
    _forced.append(None)
    try:
        yield
    finally:
        _forced.pop()


@contextmanager
def observe() -> Generator[dict[Request, Call]]:
    """Collect the classes of the calls made within it, for `prove`; they run their references."""
    seen: dict[Request, Call] = {}
    _observers.append(seen)
    try:
        yield seen
    finally:
        _observers.remove(seen)


def _may_choose() -> bool:
    """False under a tracer, dispatch mode or function transform: these must see PyTorch's own operators."""
    return not (
        _forced
        or torch.jit.is_tracing()
        or is_in_torch_dispatch_mode()
        or maybe_current_level() is not None
        or os.environ.get(SWITCH) == "reference"
    )


def _observed(kernel: str, args: Sequence[Any]) -> None:
    request = requested(kernel, args)
    if request is None:
        return
    for seen in _observers:
        if request not in seen:
            seen[request] = Call.of(kernel, *args)


def call(kernel: str, *args: Any) -> Any:
    """Run `kernel` on positional `args` by the implementation chosen for them."""
    if torch.compiler.is_compiling():
        return REFERENCE[kernel](*args)
    table = _chosen.get(kernel)
    if (table or _observers) and _may_choose():
        if _observers:
            _observed(kernel, args)
        elif table and (request := requested(kernel, args)) is not None:
            return table.get(request, REFERENCE[kernel])(*args)
    return REFERENCE[kernel](*args)


def run_reference(kernel: str, *args: Any) -> Any:
    """Run the plain meaning of `kernel` on positional `args`."""
    return REFERENCE[kernel](*args)
