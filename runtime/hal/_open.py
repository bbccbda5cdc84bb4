"""Finds a device by name: a file of this folder, or the package's target, which the emulated device then plays."""

from __future__ import annotations

import json
import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Any

from .base import Device, DeviceError

_NOT_A_DEVICE = "base"
_EMULATED = "emulated"


def device_types() -> list[str]:
    """The names of all devices that have a file here, in alphabetical order."""
    names = (module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return sorted(name for name in names if not name.startswith("_") and name not in (_NOT_A_DEVICE, _EMULATED))


def device_class(device_type: str) -> type[Device]:
    """The class of a device that `device_types` lists, whether it is available or not."""
    return import_module(f".{device_type}", __package__).DEVICE


def _split(name: str) -> tuple[str, int | None]:
    kind, colon, index = name.partition(":")
    if colon and not index.isdecimal():
        raise DeviceError(f"device {name!r}: what follows the colon must be a number, as in {kind}:0")
    return kind, int(index) if colon else None


def _is_target(kind: str, profile: Path | None) -> bool:
    if profile is None:
        return False
    facts: dict[str, Any] = json.loads(Path(profile).read_text())
    return facts["name"] == kind and facts["kind"] != "host"


def _listing() -> str:
    lines: list[str] = []
    for device_type in device_types():
        reason = device_class(device_type).unavailable_reason()
        lines.append(f"  {device_type}: {'available' if reason is None else reason}")
    return "\n".join(lines)


def open_device(name: str, profile: Path | None = None) -> Device:
    """Open a device and make it the current one of this process.

    Args:
        name: `"cpu"`, `"cuda:1"`, `"npu"`, or the name of the package's target, such as `"vendor_a"` or
            `"ascend_910b"`, which is emulated. Without an index an accelerator takes `LOCAL_RANK` where a launcher
            set it, else 0.
        profile: the `target.json` of the package.

    Raises:
        DeviceError: no such device, or it cannot be used here; the message says why and lists what exists.
    """
    kind, index = _split(name)
    if kind in device_types():
        cls = device_class(kind)
    elif _is_target(kind, profile):
        cls = device_class(_EMULATED)
    else:
        hint = "" if profile is None else f", and {profile} is not a target of that name"
        raise DeviceError(f"there is no device {name!r}{hint}. Devices:\n{_listing()}")
    reason = cls.unavailable_reason()
    if reason is not None:
        raise DeviceError(f"device {name!r} is not available: {reason}. Devices:\n{_listing()}")
    device = cls(index, profile)
    device.activate()
    return device
