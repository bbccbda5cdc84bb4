"""What an emulated device can do and how fast, read from a resolved target profile (`target.json`).

Plain facts and the wording of refusals. Knows nothing of tensors, dispatch or memory accounts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

INHERENT = frozenset(
    [
        "_to_copy",
        "copy_",
        "_copy_from",
        "_copy_from_and_resize",
        "_local_scalar_dense",
        "empty.memory_format",
        "empty_strided",
        "detach",
        "alias",
        "lift",
        "lift_fresh",
        "resize_",
        "set_.source_Tensor",
        "set_",
    ]
)
"""Without these a device could not hold a tensor at all; no table needs to list them."""


_STAND_IN = "emulated"


class Refused(NotImplementedError):
    """The device has no kernel for an operator (MIG401), or not in this dtype (MIG402).

    `missing` are the kernels that would be needed: the operator itself, or parts that it is composed of.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        operator: str,
        dtype: torch.dtype | None = None,
        missing: tuple[str, ...] = (),
    ) -> None:
        self.code = code
        self.operator = operator
        self.dtype = dtype
        self.missing = missing or (operator,)
        super().__init__(f"{code} {message}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A connection: bytes per second in one direction, and seconds of latency."""

    bandwidth: float
    latency: float

    def seconds(self, num_bytes: int) -> float:
        """Time for one transfer."""
        return self.latency + num_bytes / self.bandwidth


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProfile:
    """The facts of `target.json` that the emulation needs. Units: bytes, seconds, operations per second.

    What the profile does not know (null) costs nothing: a rate is infinite, a time zero, memory without a limit.
    """

    name: str
    device_type: str
    peak_flops: Mapping[torch.dtype, float]
    memory_bytes: int | None
    memory_bandwidth: float
    launch_seconds: float
    host_link: Link
    peer_link: Link
    host_fallback: bool
    native: frozenset[str] = field(repr=False)
    metadata: frozenset[str] = field(repr=False)
    composite: frozenset[str] = field(repr=False)

    def seconds(self, num_bytes: int, flops: float, dtype: torch.dtype) -> float:
        """Roofline time of one kernel, without its launch; a dtype without a rate runs at that of float32."""
        rate = self.peak_flops.get(dtype) or self.peak_flops[torch.float32]
        return max(num_bytes / self.memory_bandwidth, flops / rate)

    def no_kernel(self, operator: str, parts: tuple[str, ...] = ()) -> Refused:
        """The refusal of an operator; `parts` are what it is composed of and the device lacks."""
        why = f" (it is composed of {', '.join('aten::' + part for part in parts)})" if parts else ""
        todo = f"replace it in the model, or run `migrate check` for {self.name}, which lists every such operator"
        shown = operator if "::" in operator else f"aten::{operator}"
        return Refused(
            f"{shown} has no kernel on {self.name}{why}; {todo}", code="MIG401", operator=operator, missing=parts
        )

    def no_dtype(self, operator: str, dtype: torch.dtype) -> Refused:
        """The refusal of a dtype."""
        known = ", ".join(sorted(str(known).removeprefix("torch.") for known in self.peak_flops))
        short = str(dtype).removeprefix("torch.")
        message = f"aten::{operator}: {self.name} has no {short}; cast to one of: {known}"
        return Refused(message, code="MIG402", operator=operator, dtype=dtype)


def _device_type(kind: str) -> str:
    """The name of the emulated device in torch: the target's own, where torch has no device of that name itself."""
    if kind == torch._C._get_privateuse1_backend_name():
        return kind
    try:
        torch.device(kind)
    except RuntimeError:
        return kind
    return _STAND_IN


def _rate(value: float | None) -> float:
    return math.inf if value is None else float(value)


def _link(facts: dict[str, Any], name: str) -> Link:
    """A named link; at the speed of memory where the profile does not have it."""
    link = facts.get("links", {}).get(name)
    if link is None:
        return Link(bandwidth=_rate(facts["memory"]["bandwidth"]), latency=facts["launch_seconds"] or 0.0)
    return Link(bandwidth=_rate(link["bandwidth"]), latency=link["latency_seconds"] or 0.0)


def read_profile(path: Path) -> DeviceProfile:
    """Read a `target.json` (the format is in docs/architecture.md)."""
    facts: dict[str, Any] = json.loads(path.read_text())
    operators = facts["operators"]
    return DeviceProfile(
        name=facts["name"],
        device_type=_device_type(facts["device"]["type"]),
        peak_flops={getattr(torch, name): _rate(dtype["peak_flops"]) for name, dtype in facts["dtypes"].items()},
        memory_bytes=facts["memory"]["bytes"],
        memory_bandwidth=_rate(facts["memory"]["bandwidth"]),
        launch_seconds=facts["launch_seconds"] or 0.0,
        host_link=_link(facts, "host"),
        peer_link=_link(facts, "node"),
        host_fallback=bool(facts.get("host_fallback", False)),
        native=frozenset(operators["native"]),
        metadata=frozenset(operators["metadata"]) | INHERENT,
        composite=frozenset(operators["composite"]),
    )
