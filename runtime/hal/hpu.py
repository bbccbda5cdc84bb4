"""Intel Gaudi through habana_frameworks. Not run on hardware by the project's tests.

`PT_HPU_LAZY_MODE=0` gives eager mode, which is what the training loop expects: lazy mode needs a `mark_step` a step.
int64 becomes int32 unless `PT_ENABLE_INT64_SUPPORT=1`. Shapes should not change from step to step.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from ._accelerator import ModuleStreams
from .base import MemoryStats

TESTED = False
_MODULE = "habana_frameworks.torch.hpu"


class Hpu(ModuleStreams):
    """One Gaudi processor; a process sees its own."""

    device_type = "hpu"
    tested = TESTED
    plugin = _MODULE
    collectives = "hccl"
    install = "install the Gaudi software with its build of torch, and set PT_HPU_LAZY_MODE=0"

    @property
    def module(self) -> Any:
        """The bridge's module, which has more than `torch.hpu`."""
        return import_module(_MODULE)

    def activate(self) -> None:
        """Collectives are in a module of their own, which must be imported once."""
        import_module("habana_frameworks.torch.distributed.hccl")

    @property
    def torch_device(self) -> torch.device:
        """Without an index: the launcher gives each process one processor."""
        return torch.device(self.device_type)

    def memory(self) -> MemoryStats:
        """From the bridge's own statistics."""
        stats = self.module.memory_stats()
        return MemoryStats(used=stats["InUse"], peak=stats["MaxInUse"], total=stats["Limit"])

    def seed(self, seed: int) -> None:
        """The bridge has its generators in a module of their own."""
        torch.manual_seed(seed)
        import_module(f"{_MODULE}.random").manual_seed_all(seed)

    def rng_state(self) -> Tensor:
        """The state of the processor's generator."""
        return import_module(f"{_MODULE}.random").get_rng_state()

    def set_rng_state(self, state: Tensor) -> None:
        """Put back a state that `rng_state` gave."""
        import_module(f"{_MODULE}.random").set_rng_state(state)


DEVICE = Hpu
