"""Gated linear unit with SiLU. Knows no device."""

import torch.nn.functional as F
from torch import Tensor


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """See `kernels.swiglu`."""
    return F.silu(gate) * up
