"""RMS normalisation by torch_npu's `npu_rms_norm`, which PyTorch's own `rms_norm` does not reach. Untested on hardware."""

# pyright: basic, reportMissingImports=false

import torch
import torch_npu
from torch import Tensor

from ...registry import REFERENCE

DTYPES = (torch.float16, torch.bfloat16, torch.float32)


def rms_norm(x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    """See `kernels.rms_norm`; what the operator does not take (no weight, 1 or over 8 dimensions) goes to the reference."""
    if weight is None or x.dtype not in DTYPES or not 2 <= x.dim() <= 8 or not x.numel():
        return REFERENCE["rms_norm"](x, weight, eps)
    return torch_npu.npu_rms_norm(x.contiguous(), weight.to(x.dtype).contiguous(), epsilon=eps)[0]
