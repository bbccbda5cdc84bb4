"""What a target is: the accelerator as typed values, every figure with where it comes from.

Holds plain values. Must not know how a profile is stored (`profile.py`), what an operator table says (`operators.py`),
or anything of torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["host", "reference", "product"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number with its origin; `verified` says that somebody measured it, on what is written in `source`.

    What is not `known` costs nothing in a prediction: an unknown rate or size is infinite, an unknown time is zero.
    """

    value: float
    source: str
    verified: bool
    known: bool = True

    @property
    def stated(self) -> float | None:
        """The number, or None where nobody knows it."""
        return self.value if self.known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """How torch finds the device: `type` is letters only (DeviceMesh asks for that), `module` the plugin to import."""

    type: str
    module: str | None
    process_group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dtype:
    """A dtype the device computes in: peak operations per second (dense; matrix unit where it has one)."""

    name: str
    peak_flops: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A connection seen from one device: bytes per second in one direction, and seconds of latency."""

    name: str
    bandwidth: Figure
    latency_seconds: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedKernel:
    """A fused operator of the target: which kernel of the runtime it serves and which ATen operators it takes over."""

    kernel: str
    operators: tuple[str, ...]
    call: str
    backward: bool
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorTable:
    """The operators the device registers: a list on disk, less `without`, and `plus`."""

    table: Path
    without: tuple[str, ...] = ()
    plus: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A target profile. Units are base units: bytes, seconds, watts, operations per second."""

    name: str
    title: str
    kind: Kind
    path: Path
    device: Device
    dtypes: Mapping[str, Dtype]
    memory_bytes: Figure
    memory_bandwidth: Figure
    matrix_tile: tuple[int, int, int] | None
    launch_seconds: Figure
    links: Mapping[str, Link]
    power_watts: Figure | None
    price: Figure | None
    operators: OperatorTable
    host_fallback: bool
    fused: tuple[FusedKernel, ...]
    environment: tuple[str, ...]

    @property
    def device_name(self) -> str:
        """What `--device` of the package takes to train on it: a reference target is only emulated, by its name."""
        return self.name if self.kind == "reference" else self.device.type

    def compute_dtype(self, dtype: str) -> str:
        """The dtype at whose rate `dtype` is taken: itself, or float32 where the target lacks it."""
        return dtype if dtype in self.dtypes else "float32"

    def peak_flops(self, dtype: str) -> float:
        """Operations per second in `dtype`."""
        return self.dtypes[self.compute_dtype(dtype)].peak_flops.value

    def figures(self) -> dict[str, Figure]:
        """Every figure of the profile by its dotted name, for reports that show sources."""
        found = {f"dtypes.{d.name}.peak_flops": d.peak_flops for d in self.dtypes.values()}
        found |= {"memory.bytes": self.memory_bytes, "memory.bandwidth": self.memory_bandwidth}
        found |= {"launch_seconds": self.launch_seconds}
        for link in self.links.values():
            found[f"links.{link.name}.bandwidth"] = link.bandwidth
            found[f"links.{link.name}.latency_seconds"] = link.latency_seconds
        optional = {"power_watts": self.power_watts, "price": self.price}
        return found | {name: figure for name, figure in optional.items() if figure is not None}
