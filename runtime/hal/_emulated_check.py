"""Checks a composite operator by running it as its parts, once: on copies, off the account, with nothing kept.

Knows the emulator only as what runs the parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_map

from ._emulated_plan import Plan, Verdict
from ._emulated_tensor import EmulatedTensor, wrap

if TYPE_CHECKING:
    from ._emulated_dispatch import Emulator


@dataclass(slots=True)
class Trial:
    """What the parts of a composite showed."""

    launches: int = 0
    falls_back: bool = False
    unchecked: str = ""
    refused: dict[str, Verdict] = field(default_factory=dict)

    def add(self, name: str, verdict: Verdict) -> None:
        """Note one part."""
        self.launches += verdict.launches
        self.falls_back |= verdict.fallback
        self.unchecked = self.unchecked or verdict.unchecked
        if verdict.refuse is not None:
            self.refused[name] = verdict

    def verdict(self, emulator: Emulator, name: str) -> Verdict:
        """The verdict on the whole."""
        missing: dict[str, None] = {}
        for part in self.refused.values():
            assert part.refuse is not None
            refusal = part.refuse()
            if refusal.code == "MIG402":
                return part
            missing |= dict.fromkeys(refusal.missing)
        if missing:
            return Verdict(refuse=partial(emulator.profile.no_kernel, name, tuple(missing)))
        return Verdict(launches=self.launches, fallback=self.falls_back, unchecked=self.unchecked)


def _copier() -> Any:
    copies: dict[int, EmulatedTensor] = {}

    def copy(value: Any) -> Any:
        if isinstance(value, torch.Generator):
            return value.clone_state()
        if type(value) is not EmulatedTensor:
            return value
        if id(value) not in copies:
            copies[id(value)] = wrap(value.raw.clone(), None)
        return copies[id(value)]

    return copy


def try_parts(emulator: Emulator, plan: Plan, way: Callable[..., Any], args: Any, kwargs: Any) -> Verdict:
    """Run `plan` as its parts, by PyTorch's composite kernel or a decomposition, on copies of its arguments, and judge those.

    The trial changes no tensor, no generator, no clock and no account. A kernel that fails on the copies leaves the
    operator allowed and `unchecked`: if the call itself is at fault, the CPU's kernel will say so.
    """
    outer, trial = emulator.trial, Trial()
    state = torch.get_rng_state()
    emulator.trial = trial
    try:
        copied_args, copied_kwargs = tree_map(_copier(), (args, kwargs))
        way(*copied_args, **copied_kwargs)
    # whatever the kernel raises, it says nothing about the device
    except Exception as error:
        trial.unchecked = f"{type(error).__name__}: {error}"
    finally:
        emulator.trial = outer
        torch.set_rng_state(state)
    return trial.verdict(emulator, plan.name)
