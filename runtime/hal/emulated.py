"""A target without its hardware: a real torch device whose operators, memory and time follow a target profile.

The numbers are computed on the CPU, bit for bit as there. Opened through a profile, never by this file's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from ._emulated_backend import VirtualEvent, VirtualStream, emulate, obstacle
from ._emulated_table import read_profile
from .base import Device, Event, MemoryStats, Stream

TESTED = True
_LARGE_MATMUL = 4096


class Emulated(Device):
    """One emulated device; each process has its own, so an index means nothing."""

    tested = TESTED
    probe_size = 128

    def __init__(self, index: int | None = None, profile: Path | None = None) -> None:
        super().__init__(index, profile)
        assert profile is not None, "open_device finds an emulated device by its profile"
        self.facts = read_profile(profile)
        self.emulator = emulate(self.facts)
        self.device_type = self.facts.device_type  # pyright: ignore[reportAttributeAccessIssue]

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """Whether this torch can host a device written in Python."""
        return obstacle()

    def activate(self) -> None:
        """Let backward run in the thread that calls it.

        The autograd engine makes threads for the devices that exist at the first backward of a process; one that is
        registered later has none, and the engine asserts.
        """
        torch.autograd.set_multithreading_enabled(False)

    @property
    def name(self) -> str:
        """The name of the target, which differs from torch's device type."""
        return self.facts.name

    @property
    def torch_device(self) -> torch.device:
        """The only one of this process."""
        return torch.device(self.device_type, 0)

    @property
    def process_group_backend(self) -> str:
        """Gloo, on the CPU tensors behind: whatever library the target itself uses."""
        return f"cpu:gloo,{self.device_type}:gloo"

    def synchronize(self) -> None:
        """Work is done at once."""

    def memory(self) -> MemoryStats:
        """Exact bytes of all storages on the device, against the profile's memory."""
        account = self.emulator.account
        return MemoryStats(used=account.used, peak=account.peak, total=account.budget)

    def reset_peak(self) -> None:
        """Start a new peak at what is used now."""
        self.emulator.account.reset_peak()

    def rng_state(self) -> Tensor:
        """Random numbers come from the CPU's generator."""
        return torch.get_rng_state()

    def set_rng_state(self, state: Tensor) -> None:
        """Put back a state that `rng_state` gave."""
        torch.set_rng_state(state)

    def stream(self) -> Stream:
        """A stream that does its work at once."""
        return VirtualStream()

    def event(self) -> Event:
        """A mark on the virtual clock."""
        return VirtualEvent()

    def clock(self) -> float:
        """Virtual seconds of all work so far, by the roofline of the profile."""
        return self.emulator.seconds

    def matmul_seconds(self, dtype: torch.dtype) -> float:
        """A large matmul, forward and backward, by the profile: its time here would be the host's."""
        num_bytes = 3 * _LARGE_MATMUL**2 * dtype.itemsize
        return 3 * self.facts.seconds(num_bytes, 2 * _LARGE_MATMUL**3, dtype)

    def calls(self) -> Mapping[str, int]:
        """How often each operator ran since the device was opened."""
        return self.emulator.calls()

    def fallbacks(self) -> Mapping[str, int]:
        """How often operators ran on the host, where the profile says that the device does that."""
        return self.emulator.fallbacks()

    def unchecked(self) -> Mapping[str, str]:
        """Composite operators whose parts could not be held against the table, and why."""
        return self.emulator.unchecked


DEVICE = Emulated
