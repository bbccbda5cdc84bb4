"""Deterministic small changes of parameters and running statistics: a function of (seed, name, sigma) and nothing else.

The tool that converts a model changes the source's initializers with the very same functions, so that both sides stay
equal. Knows no device and no model.
"""

from __future__ import annotations

import hashlib
import math
from typing import Literal

import torch
from torch import Tensor, nn

Kind = Literal["additive", "positive"]

FLOOR = 0.01
"""The least scale of the noise: tensors of zeros, as fresh biases are, must move too."""


REDRAWN = 1.0
"""The sigma from which on nothing is left of the old values."""


def noise(name: str, shape: torch.Size, seed: int) -> Tensor:
    """Noise of unit variance in float64. Uniform, because its bits do not depend on the CPU's instruction set."""
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    uniform = torch.rand(shape, generator=generator, dtype=torch.float32).double()
    return (uniform - 0.5) * math.sqrt(12.0)


def kind_of(name: str) -> Kind | None:
    """How the buffer of that name is changed: running statistics are, all other buffers (None) are not."""
    match name.rpartition(".")[2]:
        case "running_mean":
            return "additive"
        case "running_var":
            return "positive"
        case _:
            return None


def perturbed(name: str, tensor: Tensor, seed: int, sigma: float, kind: Kind = "additive") -> Tensor:
    """A changed copy of a host tensor, in its dtype.

    Args:
        name: the name in the emitted module, which the noise depends on.
        tensor: floating point, in the layout of the emitted module.
        seed: which draw.
        sigma: the size of the change relative to the root mean square of the tensor, as in 0.01; 1 draws it anew.
        kind: `"additive"` adds `sigma * max(rms, 0.01) * noise`; `"positive"` multiplies by `1 + sigma * noise`,
            which keeps signs for sigma below 0.5.
    """
    if sigma >= REDRAWN:
        return redrawn(name, tensor, seed, kind)
    change, values = sigma * noise(name, tensor.shape, seed), tensor.detach().double()
    if kind == "positive":
        return (values * (1.0 + change)).to(tensor.dtype)
    scale = max(values.square().mean().sqrt().item(), FLOOR) if values.numel() else FLOOR
    return (values + scale * change).to(tensor.dtype)


def redrawn(name: str, tensor: Tensor, seed: int, kind: Kind) -> Tensor:
    """New values that keep a signal alive through many layers, whatever the tensor was.

    Matrices get noise of variance 2 / fan-in, vectors (scales and biases alike) values around 0.5, statistics around 0 and 1.
    """
    fresh = noise(name, tensor.shape, seed)
    if kind == "positive":
        return (1.0 + 0.2 * fresh).to(tensor.dtype)
    if kind_of(name) is not None:
        return (0.2 * fresh).to(tensor.dtype)
    if tensor.ndim < 2:
        return (0.5 + 0.2 * fresh).to(tensor.dtype)
    fan_in = tensor.numel() / max(tensor.shape[0], 1)
    return (fresh * math.sqrt(2.0 / max(fan_in, 1.0))).to(tensor.dtype)


@torch.no_grad()
def perturb(module: nn.Module, seed: int, sigma: float) -> None:
    """Change every floating-point parameter and the running statistics of `module` in place; tied ones once."""
    for name, parameter in module.named_parameters():
        if parameter.is_floating_point():
            parameter.copy_(perturbed(name, parameter.cpu(), seed, sigma))
    for name, buffer in module.named_buffers():
        kind = kind_of(name)
        if kind is not None:
            buffer.copy_(perturbed(name, buffer.cpu(), seed, sigma, kind))
