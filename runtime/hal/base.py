"""What a device is: the `Device` class, and the values it hands out. Knows no vendor and no training loop.

Every other file of this folder that defines `DEVICE` is one device, found by its file name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from ._scaler import Fp32GradScaler


class DeviceError(RuntimeError):
    """A device cannot be opened or used; the message says why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStats:
    """Bytes on the device: held by tensors now, the most since the last reset, and what exists (None: unknown)."""

    used: int
    peak: int
    total: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DtypeVerdict:
    """What running a dtype showed: `works` is right forward, backward and step; `fast` is not far slower than float32.

    `slowdown` is time over float32's time (None where it does not run), `error` the largest relative error seen.
    """

    dtype: torch.dtype
    works: bool
    fast: bool
    slowdown: float | None = None
    error: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelDesc:
    """A kernel to launch: a Python callable (which may itself launch compiled code), or source for a device's compiler.

    `grid` is the number of program instances per axis, for devices that compile `source` themselves;
    an empty `device_types` means every device.
    """

    name: str
    function: Callable[..., Any] | None = None
    source: str | None = None
    grid: tuple[int, ...] = (1,)
    device_types: tuple[str, ...] = ()


class Stream(Protocol):
    """A queue of work: `with stream:` sends work to it."""

    def synchronize(self) -> None:
        """Wait until its work is done."""
        ...

    def wait_stream(self, stream: Any, /) -> None:
        """Let later work here start after all work that `stream` has now."""
        ...

    def wait_event(self, event: Any, /) -> None:
        """Let later work here start after `event`."""
        ...

    def __enter__(self) -> Any: ...
    def __exit__(self, kind: Any, error: Any, traceback: Any, /) -> Any: ...


class Event(Protocol):
    """A mark in a stream."""

    def record(self) -> None:
        """Mark this point of the current stream."""
        ...

    def synchronize(self) -> None:
        """Wait until the work before the mark is done."""
        ...

    def query(self) -> bool:
        """Whether the work before the mark is done."""
        ...

    def elapsed_time(self, end: Any, /) -> float:
        """Milliseconds from this mark to the later `end`."""
        ...


class Device(ABC):
    """One accelerator (or the CPU) of this process.

    A subclass sets the class attributes and implements the abstract methods; the defaults serve any device that
    has a `torch.<type>` module.
    """

    device_type: ClassVar[str]
    tested: ClassVar[bool] = False
    """Whether the tests of this project run on this kind of device."""
    probe_size: ClassVar[int] = 2048
    """Rows of the matmul that `probe_dtypes` takes the time of: large enough to fill the device."""

    def __init__(self, index: int | None = None, profile: Path | None = None) -> None:
        self.index = index
        self.profile = profile
        self._verdicts: dict[torch.dtype, DtypeVerdict] = {}

    @classmethod
    @abstractmethod
    def unavailable_reason(cls) -> str | None:
        """Why this kind of device cannot be used here, and what to install; None where it can."""

    @classmethod
    def available(cls) -> bool:
        """Whether this kind of device can be used in this process."""
        return cls.unavailable_reason() is None

    @property
    def name(self) -> str:
        """The name to open it by, such as `"npu:0"`."""
        return str(self.torch_device)

    @property
    def torch_device(self) -> torch.device:
        """What `tensor.to` takes."""
        return torch.device(self.device_type, self.index if self.index is not None else 0)

    @property
    @abstractmethod
    def process_group_backend(self) -> str:
        """The backend string for `torch.distributed.init_process_group`; it serves CPU tensors as well."""

    def activate(self) -> None:  # noqa: B027 - the host and the emulated device are always current
        """Make this the current device of the process; `open_device` has done it."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until all work given to the device is done."""

    @abstractmethod
    def memory(self) -> MemoryStats:
        """Bytes used now, at the peak since `reset_peak`, and in total."""

    @abstractmethod
    def reset_peak(self) -> None:
        """Start a new peak at what is used now."""

    def seed(self, seed: int) -> None:
        """Seed the generators of the CPU and of this device."""
        torch.manual_seed(seed)

    @abstractmethod
    def rng_state(self) -> Tensor:
        """The state of this device's generator, as a CPU byte tensor."""

    @abstractmethod
    def set_rng_state(self, state: Tensor) -> None:
        """Put back a state that `rng_state` gave."""

    @abstractmethod
    def stream(self) -> Stream:
        """A new stream."""

    @abstractmethod
    def event(self) -> Event:
        """A new event that measures time."""

    def clock(self) -> float | None:
        """Virtual seconds of work done so far on an emulated device; None where time is real."""
        return None

    def autocast(self, dtype: torch.dtype | None) -> AbstractContextManager[Any]:
        """Run matrix work in `dtype`; None and float32 leave everything as it is."""
        if dtype is None or dtype == torch.float32:
            return nullcontext()
        return torch.amp.autocast(device_type=self.device_type, dtype=dtype)

    def grad_scaler(self, enabled: bool) -> torch.amp.GradScaler:
        """A loss scaler for float16 that needs no float64 on the device.

        Raises:
            DeviceError: asked for, and torch would switch it off silently on this device.
        """
        scaler = Fp32GradScaler(device=self.device_type, enabled=enabled)
        if enabled and not scaler.is_enabled():
            raise DeviceError(f"gradient scaling is not available on {self.name}; train in bf16 or fp32")
        return scaler

    def probe_dtypes(self, dtypes: Sequence[torch.dtype]) -> Mapping[torch.dtype, DtypeVerdict]:
        """Run each dtype here, forward, backward and optimizer step, and say whether it is right and fast.

        A verdict is measured once per process and device.
        """
        from ._probe import probe

        missing = [dtype for dtype in dtypes if dtype not in self._verdicts]
        self._verdicts.update(probe(self, missing))
        return {dtype: self._verdicts[dtype] for dtype in dtypes}

    def matmul_seconds(self, dtype: torch.dtype) -> float:
        """The time that a large matmul in `dtype`, forward and backward, takes here."""
        from ._probe import matmul_seconds

        return matmul_seconds(self, dtype)

    def launch_kernel(self, kernel: KernelDesc, params: Sequence[Any]) -> Any:
        """Launch `kernel` with `params` on the current stream and return what it returns.

        For kernels of the user's own, in `local/`: `model.py` and the loop call `kernels.<name>`, which chooses by proof.
        The base runs the Python callable: code that launches compiled work (Triton, a C library) takes the grid from
        its own parameters. A device with a compiler for `source` overrides this.

        Raises:
            DeviceError: the kernel is for other devices, or has only source that this device cannot compile.
        """
        if kernel.device_types and self.device_type not in kernel.device_types:
            raise DeviceError(f"kernel {kernel.name} is for {', '.join(kernel.device_types)}, not {self.device_type}")
        if kernel.function is None:
            raise DeviceError(f"kernel {kernel.name} has only source, and {self.device_type} has no compiler for it")
        return kernel.function(*params)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"
