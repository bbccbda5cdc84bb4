"""The door to devices: open one by name, and use it without knowing which it is."""

from ._emulated_table import Refused
from ._open import device_class, device_types, open_device
from .base import Device, DeviceError, DtypeVerdict, Event, KernelDesc, MemoryStats, Stream

__all__ = [
    "Device",
    "DeviceError",
    "DtypeVerdict",
    "Event",
    "KernelDesc",
    "MemoryStats",
    "Refused",
    "Stream",
    "device_class",
    "device_types",
    "open_device",
]
