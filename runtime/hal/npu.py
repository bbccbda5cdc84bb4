"""Ascend NPUs through torch_npu. Not run on hardware by the project's tests.

torch_npu is pinned to one version of torch and needs CANN (`source set_env.sh`): without it the import fails with
OSError or ImportError. A package of two dies is two devices. Worker processes must be spawned, not forked.
"""

from __future__ import annotations

from ._accelerator import AcceleratorDevice

TESTED = False


class Npu(AcceleratorDevice):
    """One NPU (one die)."""

    device_type = "npu"
    tested = TESTED
    plugin = "torch_npu"
    collectives = "hccl"
    install = "install torch-npu of torch's own version, and CANN; then source CANN's set_env.sh"


DEVICE = Npu
