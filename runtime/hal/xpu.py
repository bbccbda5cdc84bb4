"""Intel GPUs, which are part of torch. Not run on hardware by the project's tests.

By default every stack of a Max-series card is a device of its own. Arc cards have no float64.
"""

from __future__ import annotations

from ._accelerator import AcceleratorDevice

TESTED = False


class Xpu(AcceleratorDevice):
    """One Intel GPU (or one stack of it)."""

    device_type = "xpu"
    tested = TESTED
    collectives = "xccl"
    install = "install an XPU build of torch, and Intel's GPU driver"


DEVICE = Xpu
