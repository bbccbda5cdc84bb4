"""Kernels that emitted models call, and how an implementation is chosen for them.

`kernels.rms_norm(x, weight, eps)` runs the plain PyTorch meaning in `reference/` until `prove` has shown, on this
device and for this kind of call, that another implementation is right and faster; `docs/kernels.md` has the rules and
the numbers. This package knows nothing of models, training loops or the hardware layer: a device is a `torch.device`.
"""

from .api import adamw, gelu, layer_norm, linear_cross_entropy, rms_norm, rope, sdpa, swiglu
from .dispatch import observe, reference_only
from .optimizer import FusedAdamW, fused_adamw
from .request import Call, Request
from .select import activate, explain, load, prove, reset, save
from .verdict import Verdict, table

__all__ = [
    "Call",
    "FusedAdamW",
    "Request",
    "Verdict",
    "activate",
    "adamw",
    "explain",
    "fused_adamw",
    "gelu",
    "layer_norm",
    "linear_cross_entropy",
    "load",
    "observe",
    "prove",
    "reference_only",
    "reset",
    "rms_norm",
    "rope",
    "save",
    "sdpa",
    "swiglu",
    "table",
]
