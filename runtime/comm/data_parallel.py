"""Makes a module data-parallel: gradients averaged over the processes, in buckets, while backward runs.

Knows no device and no training settings.
"""

from __future__ import annotations

import warnings

from torch import nn
from torch.nn.parallel import DistributedDataParallel

from .process_group import World


def data_parallel(module: nn.Module, world: World, *, bucket_mb: float, find_unused_parameters: bool) -> nn.Module:
    """Wrap `module` for `world`; all processes begin with the parameters of the first.

    Buffers are not sent: running statistics stay those of each process, unless its batch normalisation is
    synchronised, and the first process's are saved.
    """
    if not world.is_distributed:
        return module
    with warnings.catch_warnings():
        # the name that replaces it is younger than the oldest torch that this runs on
        warnings.filterwarnings("ignore", message="`broadcast_buffers` is deprecated")
        return DistributedDataParallel(
            module,
            bucket_cap_mb=bucket_mb,  # pyright: ignore[reportArgumentType] - annotated int, but multiplied and truncated
            broadcast_buffers=False,
            gradient_as_bucket_view=True,
            find_unused_parameters=find_unused_parameters,
        )
