"""Which samples make up which batch: a function of the seed alone, whatever the number of processes.

Knows positions and indices; no tensor's meaning and no device.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from ..package import PackageError, TensorSpec
from .data import Sample, Samples
from .settings import DataSettings

Batch = tuple[Tensor, ...]


def epoch_order(groups: Sequence[int], seed: int, epoch: int, shuffle: bool) -> list[int]:
    """The sample indices of one epoch: the groups in random order, and the samples at random within each group."""
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)

    def permutation(count: int) -> list[int]:
        return torch.randperm(count, generator=generator).tolist() if shuffle else list(range(count))

    starts = [0, *accumulate(groups)]
    return [starts[group] + i for group in permutation(len(groups)) for i in permutation(groups[group])]


class BatchOrder:
    """Yields, step after step without end, the indices of this process's share of the global batch.

    The global batch of a step is the next `world_size * batch_size` samples of one endless sequence of epochs; each
    process takes a contiguous share. So two processes with B samples see together what one with 2 B sees.
    """

    def __init__(
        self,
        groups: Sequence[int],
        *,
        batch_size: int,
        rank: int,
        world_size: int,
        seed: int,
        shuffle: bool,
        position: int,
    ) -> None:
        self.groups, self.batch_size, self.rank, self.world_size = groups, batch_size, rank, world_size
        self.seed, self.shuffle, self.position = seed, shuffle, position

    def __iter__(self) -> Iterator[list[int]]:
        total, global_batch = sum(self.groups), self.batch_size * self.world_size
        epoch, order, position = -1, list[int](), self.position
        while True:
            indices: list[int] = []
            first = position + self.rank * self.batch_size
            for place in range(first, first + self.batch_size):
                if place // total != epoch:
                    epoch = place // total
                    order = epoch_order(self.groups, self.seed, epoch, self.shuffle)
                indices.append(order[place % total])
            yield indices
            position += global_batch


def collate(specs: Sequence[TensorSpec], samples: Sequence[Sample]) -> Batch:
    """Stack samples along each tensor's batch axis; what has none is taken from the first sample."""
    columns = list(zip(*samples, strict=True))
    batch: list[Tensor] = []
    for spec, column in zip(specs, columns, strict=True):
        shapes = {tuple(t.shape) for t in column}
        if len(shapes) > 1:
            raise PackageError(f"{spec.name} has samples of different shapes in one batch: {sorted(shapes)}; pad them")
        join = torch.stack if spec.rows == 1 else torch.cat
        batch.append(column[0] if spec.batch_axis is None else join(column, spec.batch_axis))
    return tuple(batch)


def _leave_interrupts_to_parent(worker: int) -> None:
    """A terminal sends Ctrl-C to every process; the loop still needs the batches of its last step."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def batches(
    samples: Samples, specs: Sequence[TensorSpec], order: BatchOrder, settings: DataSettings
) -> Iterator[Batch]:
    """Batches on the host, without end. Leaves the global generators alone unless the samples use them."""
    # its own generator: the loader would otherwise draw a base seed from the global one, and a resumed run would differ
    generator = torch.Generator().manual_seed(order.seed)
    workers: dict[str, Any] = {"multiprocessing_context": "spawn", "worker_init_fn": _leave_interrupts_to_parent}
    loader: DataLoader[Batch] = DataLoader(
        samples,  # pyright: ignore[reportArgumentType] - any object with a length and items
        batch_sampler=order,  # pyright: ignore[reportArgumentType] - an endless iterable of index lists
        collate_fn=partial(collate, tuple(specs)),
        num_workers=settings.workers,
        generator=generator,
        **(workers if settings.workers else {}),
    )
    return iter(loader)


def group_sizes(samples: Samples) -> list[int]:
    """How the samples lie in storage: sizes of shards, or everything as one group."""
    return list(getattr(samples, "groups", [len(samples)]))
