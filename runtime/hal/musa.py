"""Moore Threads GPUs through torch_musa. Not run on hardware by the project's tests.

torch_musa needs the vendor's build of torch. `mccl` is absent on S80 and S3000.
"""

from __future__ import annotations

from ._accelerator import ModuleStreams

TESTED = False


class Musa(ModuleStreams):
    """One GPU."""

    device_type = "musa"
    tested = TESTED
    plugin = "torch_musa"
    collectives = "mccl"
    install = "install torch_musa with the torch built for it, and the MUSA SDK, and set MUSA_HOME"


DEVICE = Musa
