"""Counts the bytes that are alive on the traced device, by watching the storages of fake tensors.

Must not know operators: it is shown tensors and told nothing else.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable

from torch import Tensor


class LiveBytes:
    """Bytes of all storages alive, their largest sum, and what autograd keeps for backward."""

    def __init__(self, device_type: str) -> None:
        self.device_type = device_type
        self.current = 0
        self.peak = 0
        self.known: set[int] = set()
        self.saved: dict[int, int] = {}
        self.model: set[int] = set()

    def add(self, tensors: Iterable[Tensor]) -> None:
        """Counts the storages of tensors on the device that are new."""
        for tensor in tensors:
            if tensor.device.type != self.device_type:
                continue
            storage = tensor.untyped_storage()
            key, size = storage._cdata, storage.nbytes()
            if key in self.known:
                continue
            self.known.add(key)
            self.current += size
            self.peak = max(self.peak, self.current)
            weakref.finalize(storage, self.remove, key, size).atexit = False

    def remove(self, key: int, size: int) -> None:
        """A storage was freed."""
        self.known.discard(key)
        self.current -= size

    def begin(self) -> int:
        """Start a new peak at what is alive, and forget what was saved; returns the bytes alive."""
        self.peak = self.current
        self.saved.clear()
        return self.current

    def add_model(self, tensors: Iterable[Tensor]) -> None:
        """Counts parameters and buffers: saving one for backward costs nothing more."""
        found = list(tensors)
        self.add(found)
        self.model |= {tensor.untyped_storage()._cdata for tensor in found}

    def pack(self, tensor: Tensor) -> Tensor:
        """The hook for saved tensors: notes the storage and keeps the tensor."""
        if tensor.device.type == self.device_type:
            storage = tensor.untyped_storage()
            if storage._cdata not in self.model:
                self.saved[storage._cdata] = storage.nbytes()
        return tensor


def total_bytes(tensors: Iterable[Tensor]) -> int:
    """Bytes of the elements of tensors."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
