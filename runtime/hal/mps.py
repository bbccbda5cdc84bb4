"""Apple GPUs, which are part of torch. Not run on hardware by the project's tests.

One device, one stream, no float64; torch maps collectives of its tensors to gloo.
"""

from __future__ import annotations

import torch

from ._accelerator import AcceleratorDevice
from .base import Event, MemoryStats, Stream
from .cpu import HostStream

TESTED = False


class OnlyStream(HostStream):
    """The one stream of the device: everything is in it already, in order."""

    def synchronize(self) -> None:
        """Wait for all work."""
        torch.mps.synchronize()


class Mps(AcceleratorDevice):
    """The GPU."""

    device_type = "mps"
    tested = TESTED
    collectives = "gloo"
    install = "use macOS 14 or newer on Apple silicon with torch's standard build"

    def __init__(self, index: int | None = None, profile: object = None) -> None:
        super().__init__(0, profile)
        self._peak = 0

    def activate(self) -> None:
        """There is one device, and it is current."""

    def memory(self) -> MemoryStats:
        """Bytes of tensors; torch keeps no peak here, so it is the most that any call of `memory` saw."""
        used = torch.mps.current_allocated_memory()
        self._peak = max(self._peak, used)
        return MemoryStats(used=used, peak=self._peak, total=torch.mps.recommended_max_memory())

    def reset_peak(self) -> None:
        """Start a new peak at what is used now."""
        self._peak = torch.mps.current_allocated_memory()

    def seed(self, seed: int) -> None:
        """`torch.manual_seed` seeds this device as well."""
        torch.manual_seed(seed)

    def stream(self) -> Stream:
        """The only stream."""
        return OnlyStream()

    def event(self) -> Event:
        """An event of the device."""
        return torch.mps.event.Event(enable_timing=True)


DEVICE = Mps
