"""Communication between processes: who takes part, and how gradients and statistics are joined."""

from .data_parallel import data_parallel
from .process_group import World, end_process, start
from .sync_batch_norm import SyncBatchNorm, convert_sync_batch_norm

__all__ = ["SyncBatchNorm", "World", "convert_sync_batch_norm", "data_parallel", "end_process", "start"]
