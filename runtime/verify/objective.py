"""A scalar that depends on every output of a module, for gradients without a loss. Knows no device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .unchanged import unchanged


def logits_of(module: nn.Module, inputs: Sequence[Tensor]) -> Any:
    """What the module's `logits` gives where it has that method, else what calling it gives."""
    function: Callable[..., Any] = getattr(module, "logits", module)
    return function(*inputs)


def evaluate(module: nn.Module, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The floating-point outputs, logits where the module has them: saturated outputs hide their gradients."""
    with unchanged(module):
        values = logits_of(module, inputs)
    several: tuple[Tensor, ...] = (values,) if isinstance(values, Tensor) else tuple(values)
    return tuple(value for value in several if value.is_floating_point())


def coefficients(outputs: Sequence[Tensor], seed: int) -> list[Tensor]:
    """Seeded random coefficients for each output on the host, in float64, scaled so that the sum is of order one."""
    made: list[Tensor] = []
    for index, output in enumerate(outputs):
        generator = torch.Generator().manual_seed(seed * 1009 + index)
        values = output.detach().cpu().double()
        spread = values.std().item() if values.numel() > 1 else 0.0
        scale = (spread if spread > 1e-12 else 1.0) * max(values.numel(), 1) ** 0.5
        made.append(torch.randn(output.shape, generator=generator, dtype=torch.float64) / scale)
    return made


def objective(outputs: Sequence[Tensor], weights: Sequence[Tensor]) -> Tensor:
    """The sum of each output times its coefficients, which are constants."""
    terms = [(w.to(y.dtype).to(y.device) * y).sum() for y, w in zip(outputs, weights, strict=True)]
    return torch.stack(terms).sum()
