"""NVIDIA GPUs; AMD and Hygon GPUs under a ROCm build of torch, which has the same name and the same functions.

Iluvatar, MetaX and Kunlunxin also present themselves as `cuda` under their own builds of torch. Not run on hardware by
the project's tests.
"""

from __future__ import annotations

import torch

from ._accelerator import AcceleratorDevice

TESTED = False


class Cuda(AcceleratorDevice):
    """One GPU. `nccl` is also the name of RCCL, and of what the other vendors put in its place."""

    device_type = "cuda"
    tested = TESTED
    collectives = "nccl"
    install = "install a CUDA or ROCm build of torch, and the vendor's driver"

    @property
    def platform(self) -> str:
        """`"rocm"` under a ROCm build, else `"cuda"`: kernels are compiled for one or the other."""
        return "cuda" if torch.version.hip is None else "rocm"


DEVICE = Cuda
