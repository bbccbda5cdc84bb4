"""Tells torch that an emulated device exists: one per process, through the Python backend of PrivateUse1.

Knows nothing of costs or operators; the emulator it is given does.
"""

from __future__ import annotations

import contextlib
from importlib import import_module
from typing import Any

import torch
import torch.utils.backend_registration as registration
from torch import Tensor

from . import _emulated_autocast
from ._emulated_dispatch import Emulator
from ._emulated_plan import operator_name
from ._emulated_table import DeviceProfile
from ._emulated_tensor import EmulatedTensor
from .base import DeviceError
from .cpu import HostEvent, HostStream

_UNTAKEN = "privateuseone"
_SETUP = "_setup_privateuseone_for_python_backend"
_FACTORIES = ("_to_copy", "empty.memory_format", "empty_strided", "_copy_from", "_copy_from_and_resize", "copy_")
"""Registered one by one: torch asserts where it finds only the fallback for these."""

_libraries: list[torch.library.Library] = []
_emulators: dict[str, Emulator] = {}


class VirtualEvent(HostEvent):
    """A mark on the virtual clock."""

    def __init__(self, device: Any = None, enable_timing: bool = True, **kwargs: Any) -> None:
        super().__init__()

    def now(self) -> float:
        """Virtual seconds."""
        return next(iter(_emulators.values())).seconds


class VirtualStream(HostStream):
    """A stream of a device that finishes its work at once."""

    def __init__(self, device: Any = None, **kwargs: Any) -> None:
        self.device = EmulatedTensor.place

    def record_event(self, event: HostEvent | None = None) -> HostEvent:
        """Mark now, in `event` or a new one."""
        event = event or VirtualEvent()
        event.record()
        return event


class BackendModule:
    """What torch looks for as `torch.<device type>`."""

    Stream = VirtualStream
    Event = VirtualEvent

    def is_initialized(self) -> bool:
        """Always."""
        return True

    def is_available(self) -> bool:
        """Always."""
        return True

    def device_count(self) -> int:
        """One per process: processes do not share an emulated device."""
        return 1

    def current_device(self) -> int:
        """The only one."""
        return 0

    def set_device(self, device: Any) -> None:
        """There is only one."""

    def synchronize(self, device: Any = None) -> None:
        """Work is done at once."""

    def current_stream(self, device: Any = None) -> VirtualStream:
        """A stream with nothing pending."""
        return VirtualStream()

    def stream(self, stream: Any) -> contextlib.AbstractContextManager[None]:
        """All streams are one."""
        return contextlib.nullcontext()

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """What autocast may choose."""
        known = next(iter(_emulators.values())).profile.peak_flops
        return [dtype for dtype in (torch.float16, torch.bfloat16) if dtype in known]

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        """Random numbers come from the CPU's generator, which torch seeds."""

    def manual_seed(self, seed: int) -> None:
        """Random numbers come from the CPU's generator, which torch seeds."""

    def get_rng_state(self, device: Any = None) -> Tensor:
        """The CPU's generator."""
        return torch.get_rng_state()

    def set_rng_state(self, state: Tensor, device: Any = None) -> None:
        """The CPU's generator."""
        torch.set_rng_state(state)

    def memory_allocated(self, device: Any = None) -> int:
        """Bytes used."""
        return next(iter(_emulators.values())).account.used

    def max_memory_allocated(self, device: Any = None) -> int:
        """Bytes at the peak."""
        return next(iter(_emulators.values())).account.peak

    def empty_cache(self) -> None:
        """Nothing is cached."""


def obstacle() -> str | None:
    """Why this torch cannot host an emulated device, or None."""
    if not hasattr(registration, _SETUP):
        return f"this torch ({torch.__version__}) has no Python backend for emulated devices; install torch 2.13"
    return None


def _register(device_type: str, emulator: Emulator) -> None:
    taken = torch._C._get_privateuse1_backend_name()
    if taken != _UNTAKEN:
        raise DeviceError(
            f"cannot emulate {device_type}: this process already uses {taken}, and torch has room for one"
        )
    getattr(registration, _SETUP)(device_type, backend_module=BackendModule())
    EmulatedTensor.place = torch.device(device_type, 0)
    EmulatedTensor.run = emulator.run
    EmulatedTensor.take_lease = emulator.hold
    fallback = torch.library.Library("_", "IMPL")
    fallback.fallback(lambda op, *args, **kwargs: emulator.run(op, args, kwargs), dispatch_key="PrivateUse1")
    aten = torch.library.Library("aten", "IMPL")
    for name in _FACTORIES:
        packet, _, overload = name.partition(".")
        op = getattr(getattr(torch.ops.aten, packet), overload or "default")
        assert operator_name(op) == name
        aten.impl(name, lambda *args, _op=op, **kwargs: emulator.run(_op, args, kwargs), "PrivateUse1")
    _libraries.extend([fallback, aten, *_emulated_autocast.register(device_type)])
    # torch.optim picks its foreach form by the type of the parameters
    optimizer: Any = import_module("torch.optim.optimizer")
    optimizer._foreach_supported_types.append(EmulatedTensor)


def emulate(profile: DeviceProfile) -> Emulator:
    """The emulator of this process, registered on first use; the same device may be opened again with other facts.

    Raises:
        DeviceError: another device has been emulated, or a vendor's plugin loaded, in this process.
    """
    known = _emulators.get(profile.device_type)
    if known is not None:
        known.use(profile)
        return known
    if _emulators:
        first = next(iter(_emulators.values())).profile.name
        raise DeviceError(f"cannot emulate {profile.name}: this process emulates {first}, and torch has room for one")
    emulator = Emulator(profile)
    _register(profile.device_type, emulator)
    _emulators[profile.device_type] = emulator
    return emulator
