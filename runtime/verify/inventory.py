"""Compares the names, shapes, dtypes and roles of a module's tensors with the stored inventory."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from .golden import InventoryItem, inventory_of
from .outcome import Check


def _difference(expected: InventoryItem, actual: InventoryItem) -> str | None:
    for field in ("shape", "dtype", "role", "trainable"):
        was, is_now = getattr(expected, field), getattr(actual, field)
        if was != is_now:
            return f"{expected.name} has {field} {is_now}, expected {was}"
    return None


def check_inventory(module: nn.Module, expected: Sequence[InventoryItem]) -> Check:
    """Whether the module has exactly the expected parameters and buffers."""
    wanted, actual = {i.name: i for i in expected}, {i.name: i for i in inventory_of(module)}
    faults = [f"{name} is missing" for name in wanted if name not in actual]
    faults += [f"{name} is not expected" for name in actual if name not in wanted]
    shared = [name for name in wanted if name in actual]
    faults += [fault for name in shared if (fault := _difference(wanted[name], actual[name]))]
    trainable = sum(item.trainable for item in actual.values())
    detail = f"{len(actual)} tensors, {trainable} trainable"
    if faults:
        detail = f"{len(faults)} differ: {'; '.join(faults[:5])}"
    return Check(name="inventory", passed=not faults, detail=detail)
