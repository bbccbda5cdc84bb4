"""Sets up the process group of a run that torchrun started, and the small collectives of the loop.

Knows that a device names its backend; no device and no model.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import NoReturn

import torch
import torch.distributed as dist
from torch import Tensor

from ..hal import Device

MAIN_RANK = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The processes of this run."""

    rank: int = 0
    size: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this process prints and writes."""
        return self.rank == MAIN_RANK

    @property
    def is_distributed(self) -> bool:
        """Whether there is a process group."""
        return self.size > 1

    def sum(self, values: Tensor) -> Tensor:
        """The sum of `values` (a float64 or int64 tensor on the host) over all processes."""
        if self.is_distributed:
            dist.all_reduce(values)
        return values

    def barrier(self) -> None:
        """Wait for all processes, over a host tensor, so that no device's barrier is needed."""
        self.sum(torch.zeros(1, dtype=torch.int64))


def _warm_up(device: Device, size: int) -> None:
    """One float32 element through every backend now: communicators that are made lazily have failed later on."""
    host, there = torch.ones(1, dtype=torch.float32), torch.ones(1, dtype=torch.float32).to(device.torch_device)
    for tensor in (host, there):
        dist.all_reduce(tensor)
        if tensor.item() != size:
            raise RuntimeError(f"a first all_reduce over {size} processes gave {tensor.item()}")


def start(device: Device) -> World:
    """Join the processes that torchrun started, with the backend of `device`; alone without torchrun."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return World()
    dist.init_process_group(device.process_group_backend)
    _warm_up(device, size)
    return World(rank=dist.get_rank(), size=size)


def end_process(status: int) -> NoReturn:
    """Leave the process with `status`; one that is in a process group leaves at once, without tearing it down.

    The destructor of a gloo group joins its threads while it holds the interpreter's lock, and they may wait for that
    lock to release tensors: one run in four was seen to hang for ever.
    """
    if dist.is_initialized():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    raise SystemExit(status)
