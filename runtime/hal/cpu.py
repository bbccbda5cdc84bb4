"""The host CPU as a device: work is synchronous, memory is the process's resident set. Knows no accelerator."""

from __future__ import annotations

import os
import time
from pathlib import Path

import torch
from torch import Tensor

from .base import Device, Event, MemoryStats, Stream

TESTED = True
_STATUS = Path("/proc/self/status")


class HostStream:
    """A stream of a device that works synchronously: nothing is ever waited for."""

    def synchronize(self) -> None:
        """Nothing is pending."""

    def wait_stream(self, stream: object, /) -> None:
        """Nothing is pending."""

    def wait_event(self, event: object, /) -> None:
        """Nothing is pending."""

    def record_event(self, event: HostEvent | None = None) -> HostEvent:
        """Mark now, in `event` or a new one."""
        event = event or HostEvent()
        event.record()
        return event

    def query(self) -> bool:
        """Everything is done."""
        return True

    def __enter__(self) -> HostStream:
        return self

    def __exit__(self, *exc: object) -> None:
        return None


class HostEvent:
    """A wall-clock mark."""

    def __init__(self) -> None:
        self.seconds: float | None = None

    def record(self, stream: object = None, /) -> None:
        """Mark now."""
        self.seconds = self.now()

    def now(self) -> float:
        """Seconds on the clock that this event reads."""
        return time.perf_counter()

    def wait(self, stream: object = None, /) -> None:
        """Nothing is pending."""

    def synchronize(self) -> None:
        """Nothing is pending."""

    def query(self) -> bool:
        """Everything is done."""
        return True

    def elapsed_time(self, end: HostEvent, /) -> float:
        """Milliseconds from this mark to `end`."""
        if self.seconds is None or end.seconds is None:
            raise RuntimeError("elapsed_time needs both events recorded")
        return (end.seconds - self.seconds) * 1e3


def resident_bytes(field: str) -> int:
    """`VmRSS` (now) or `VmHWM` (peak) of this process; 0 where the system has no /proc."""
    if not _STATUS.exists():
        return 0
    line = next((line for line in _STATUS.read_text().splitlines() if line.startswith(field + ":")), "x 0 kB")
    return int(line.split()[1]) * 1024


class Cpu(Device):
    """The host."""

    device_type = "cpu"
    tested = TESTED
    probe_size = 256

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """The host is always there."""
        return None

    @property
    def name(self) -> str:
        """Always `"cpu"`: every process has the same one, whatever index was asked for."""
        return self.device_type

    @property
    def torch_device(self) -> torch.device:
        """The CPU, without an index."""
        return torch.device(self.device_type)

    @property
    def process_group_backend(self) -> str:
        """Gloo."""
        return "gloo"

    def synchronize(self) -> None:
        """CPU work is synchronous."""

    def memory(self) -> MemoryStats:
        """Resident bytes of the whole process, not of tensors alone."""
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None
        return MemoryStats(used=resident_bytes("VmRSS"), peak=resident_bytes("VmHWM"), total=total)

    def reset_peak(self) -> None:
        """Reset the kernel's high-water mark of this process; without the right to, the mark stays."""
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            return

    def rng_state(self) -> Tensor:
        """The state of torch's CPU generator."""
        return torch.get_rng_state()

    def set_rng_state(self, state: Tensor) -> None:
        """Put back a state of torch's CPU generator."""
        torch.set_rng_state(state)

    def stream(self) -> Stream:
        """A stream that does its work at once."""
        return HostStream()

    def event(self) -> Event:
        """A wall-clock event."""
        return HostEvent()


DEVICE = Cpu
