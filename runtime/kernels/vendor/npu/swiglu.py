"""SwiGLU by torch_npu's `npu_swiglu`, which takes both halves in one tensor. Untested on hardware."""

# pyright: basic, reportMissingImports=false

import torch
import torch_npu
from torch import Tensor

from ...registry import REFERENCE

DTYPES = (torch.float16, torch.bfloat16, torch.float32)


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """See `kernels.swiglu`; what the operator does not take goes to the reference."""
    if gate.dtype not in DTYPES or not 1 <= gate.dim() <= 8 or not gate.numel():
        return REFERENCE["swiglu"](gate, up)
    return torch_npu.npu_swiglu(torch.cat((gate, up), -1), dim=-1)
