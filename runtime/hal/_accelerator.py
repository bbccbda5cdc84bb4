"""What every real accelerator has in common: a plugin to import, a `torch.<type>` module, and the functions in it.

Knows no vendor: names, backends and installation are class attributes of the devices.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, ClassVar

import torch
from torch import Tensor

from .base import Device, DeviceError, Event, MemoryStats, Stream


class AcceleratorDevice(Device):
    """An accelerator reached through `torch.<device_type>`.

    `plugin` is the module that registers it (None: part of torch), `install` what a user must do to have it, and
    `collectives` the name of its process-group backend.
    """

    plugin: ClassVar[str | None] = None
    install: ClassVar[str]
    collectives: ClassVar[str]

    def __init__(self, index: int | None = None, profile: Any = None) -> None:
        local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        super().__init__(local_rank if index is None else index, profile)

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """Import the plugin and ask it; a plugin without its driver fails in several ways."""
        if cls.plugin is not None:
            try:
                import_module(cls.plugin)
            except (ImportError, OSError, RuntimeError) as error:
                first_line = str(error).partition("\n")[0]
                return f"module {cls.plugin} cannot be imported ({first_line}); {cls.install}"
        module = getattr(torch, cls.device_type, None)
        if module is None:
            return f"this torch has no torch.{cls.device_type}; {cls.install}"
        return None if module.is_available() else f"torch.{cls.device_type} sees no device; {cls.install}"

    @property
    def module(self) -> Any:
        """The module `torch.<device_type>`."""
        return torch.get_device_module(self.device_type)

    @property
    def process_group_backend(self) -> str:
        """The vendor's collectives for its tensors, gloo for those on the host."""
        return f"cpu:gloo,{self.device_type}:{self.collectives}"

    def activate(self) -> None:
        """Make it the current device, for collectives and for streams."""
        count = self.module.device_count()
        if self.torch_device.index >= count:
            raise DeviceError(f"there is no {self.name}: this process sees {count} of {self.device_type}")
        self.module.set_device(self.torch_device.index)

    def synchronize(self) -> None:
        """Wait for all streams."""
        self.module.synchronize()

    def memory(self) -> MemoryStats:
        """Bytes of tensors, from the caching allocator; the total is the device's."""
        module = self.module
        used, peak = module.memory_allocated(), module.max_memory_allocated()
        return MemoryStats(used=used, peak=peak, total=self._total_bytes())

    def _total_bytes(self) -> int | None:
        return self.module.mem_get_info()[1]

    def reset_peak(self) -> None:
        """Start a new peak at what is used now."""
        self.module.reset_peak_memory_stats()

    def seed(self, seed: int) -> None:
        """Seed the generators of the CPU and of all devices of this kind."""
        torch.manual_seed(seed)
        self.module.manual_seed_all(seed)

    def rng_state(self) -> Tensor:
        """The state of the current device's generator."""
        return self.module.get_rng_state()

    def set_rng_state(self, state: Tensor) -> None:
        """Put back a state that `rng_state` gave."""
        self.module.set_rng_state(state)

    def stream(self) -> Stream:
        """A new stream of this device."""
        return torch.Stream(self.torch_device)

    def event(self) -> Event:
        """A new event that measures time."""
        return torch.Event(self.torch_device, enable_timing=True)


class ModuleStream:
    """A stream of a vendor's own class, which torch cannot enter with `with`: its module's context is used."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self.vendor: Any = module.Stream()
        self._entered: list[Any] = []

    def synchronize(self) -> None:
        """Wait until its work is done."""
        self.vendor.synchronize()

    def wait_stream(self, stream: ModuleStream, /) -> None:
        """Let later work here start after all work that `stream` has now."""
        self.vendor.wait_stream(stream.vendor)

    def wait_event(self, event: Any, /) -> None:
        """Let later work here start after `event`."""
        self.vendor.wait_event(event)

    def __enter__(self) -> ModuleStream:
        context = self._module.stream(self.vendor)
        context.__enter__()
        self._entered.append(context)
        return self

    def __exit__(self, *exc: Any) -> Any:
        return self._entered.pop().__exit__(*exc)


class ModuleStreams(AcceleratorDevice):
    """An accelerator whose plugin is older than torch's generic streams, and brings its own classes."""

    def stream(self) -> Stream:
        """A new stream of the plugin's class."""
        return ModuleStream(self.module)

    def event(self) -> Event:
        """A new event of the plugin's class."""
        return self.module.Event(enable_timing=True)
