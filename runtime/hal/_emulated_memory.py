"""The byte account of an emulated device: which storages live, how many bytes, and the peak. Knows no operators."""

from __future__ import annotations

import math
import weakref
from typing import Any

import torch
from torch import Tensor


class Lease:
    """One storage on the device. Every tensor over it holds the same lease; the last one gives the bytes back."""

    __slots__ = ("__weakref__", "account", "num_bytes", "storage")

    def __init__(self, account: MemoryAccount, storage: torch.UntypedStorage, num_bytes: int) -> None:
        self.account = account
        self.storage = storage
        self.num_bytes = num_bytes

    def __del__(self) -> None:
        # the storage is still held here, so its address cannot have been taken by another one yet
        self.account.give_back(self)


class MemoryAccount:
    """Exact live and peak bytes of all storages, against a budget (None: without a limit)."""

    def __init__(self, budget: int | None) -> None:
        self.budget = budget
        self.used = 0
        self.peak = 0
        self._leases: dict[int, weakref.ref[Lease]] = {}

    def lease(self, raw: Tensor) -> Lease:
        """The lease of the storage of `raw`; a new storage is added to what is used, over the budget or not."""
        storage: Any = raw.untyped_storage()
        key: int = storage._cdata
        known = self._leases.get(key)
        lease = known() if known is not None else None
        num_bytes = storage.nbytes()
        if lease is None:
            lease = Lease(self, storage, num_bytes)
            self._leases[key] = weakref.ref(lease)
            self._add(num_bytes)
        elif lease.num_bytes != num_bytes:
            self._add(num_bytes - lease.num_bytes)
            lease.num_bytes = num_bytes
        return lease

    def _add(self, num_bytes: int) -> None:
        self.used += num_bytes
        if self.used > self.peak:
            self.peak = self.used

    def give_back(self, lease: Lease) -> None:
        """Called by a lease that ends."""
        storage: Any = lease.storage
        del self._leases[storage._cdata]
        self.used -= lease.num_bytes

    def reset_peak(self) -> None:
        """The peak becomes what is used now."""
        self.peak = self.used

    def out_of_memory(self, raw: Tensor, lease: Lease, name: str) -> torch.OutOfMemoryError:
        """The error of a device that has no room left for `raw`, whose lease was just taken."""
        mib = 2**20
        held = self.used - lease.num_bytes
        room = math.inf if self.budget is None else self.budget / mib
        return torch.OutOfMemoryError(
            f"{name} out of memory. Tried to allocate {lease.num_bytes / mib:.2f} MiB for a tensor of shape "
            f"{tuple(raw.shape)}; {held / mib:.2f} MiB of {room:.2f} MiB are in use. "
            "Use a smaller batch or activation checkpointing."
        )
