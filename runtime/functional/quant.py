"""Numbers of few bits: rounding to them, and to them and back with a gradient that passes straight through.

Knows nothing of the source a model came from.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch
from torch import Tensor

FLOAT8 = {
    "e4m3fn": torch.float8_e4m3fn, "e4m3fnuz": torch.float8_e4m3fnuz,
    "e5m2": torch.float8_e5m2, "e5m2fnuz": torch.float8_e5m2fnuz,
}  # fmt: skip


_rounds = True


@contextmanager
def unrounded() -> Generator[None]:
    """Inside, nothing is rounded: the function of which the gradients are, for those who hold them against differences."""
    global _rounds
    before, _rounds = _rounds, False
    try:
        yield
    finally:
        _rounds = before


def straight_through(x: Tensor, rounded: Tensor) -> Tensor:
    """`rounded`, to the bit, with the gradient of `x`."""
    if not _rounds:
        return x
    return rounded.detach() + (x - x.detach())


def wrap(x: Tensor, low: int, high: int) -> Tensor:
    """Whole numbers brought into low..high as two's complement drops bits."""
    wide = x if x.dtype == torch.int64 else x.to(torch.int32)
    return ((wide - low).remainder(high - low + 1) + low).to(x.dtype)


def round_float8(x: Tensor, kind: str, saturate: bool = True) -> Tensor:
    """Floats rounded to those that 8 bits hold, to the even neighbour in a tie; still in the type of `x`.

    Args:
        x: floats.
        kind: `e4m3fn`, `e4m3fnuz`, `e5m2` or `e5m2fnuz`.
        saturate: whether what is too large becomes the largest number, and not infinity or no number.
    """
    dtype = FLOAT8[kind]
    largest = torch.finfo(dtype).max
    bounded = x.detach().clamp(-largest, largest) if saturate else x.detach()
    if kind == "e4m3fn" and not saturate:  # has no infinity, and versions of torch differ in what stands for it
        bounded = torch.where(bounded.abs() > largest + 16, torch.nan, bounded)
    return _placed(x, bounded.to(dtype).to(x.dtype))


def round_float4(x: Tensor) -> Tensor:
    """Floats rounded to 0, 0.5, 1, 1.5, 2, 3, 4 or 6 of either sign, to the even neighbour in a tie."""
    _, exponent = torch.frexp(x.detach())
    step = torch.exp2((exponent - 2).clamp(-1, 1).to(x.dtype))
    rounded = (torch.round(x.detach() / step) * step).clamp(-6, 6)
    return _placed(x, torch.where(x.isnan(), torch.full_like(rounded, -0.0), rounded))


def round_power(x: Tensor, saturate: bool = True, mode: str = "up") -> Tensor:
    """The power of two that the 8 bits of an exponent hold; the sign is lost.

    Args:
        x: float32.
        saturate: whether the largest power stays where rounding would lead beyond it.
        mode: `up`, `down` or `nearest`.
    """
    bits = x.detach().to(torch.float32).view(torch.int32)
    exponent, fraction = (bits >> 23) & 0xFF, bits & 0x7FFFFF
    half = 1 << 22
    tie = (fraction == half) & (exponent > 0)
    more = {"up": fraction > 0, "down": fraction < 0, "nearest": (fraction > half) | tie}[mode]
    more = more & (exponent < 255) & ~((exponent == 254) & saturate)
    exponent = exponent + more
    power = torch.exp2((exponent - 127).to(torch.float64)).to(x.dtype)
    return torch.where(exponent == 255, torch.full_like(power, torch.nan), power)


def quantize(x: Tensor, scale: Tensor | float, zero_point: Tensor | float, low: int, high: int) -> Tensor:
    """x / scale + zero_point as whole numbers from low to high, to the even neighbour in a tie; still in the type of `x`.

    The gradient is that of x / scale where the number is in the range, and 0 beyond it.

    Args:
        x: floats.
        scale: broadcasts to `x`.
        zero_point: like `scale`.
        low: the least number.
        high: the greatest one.
    """
    exact = x / scale
    return (straight_through(exact, torch.round(exact)) + zero_point).clamp(low, high)


def fake_quantize(x: Tensor, scale: Tensor | float, zero_point: Tensor | float, low: int, high: int) -> Tensor:
    """The nearest of those floats for which whole numbers from low to high stand, with the gradient of `x` everywhere.

    Args:
        x: a weight.
        scale: broadcasts to `x`.
        zero_point: like `scale`.
        low: the least number.
        high: the greatest one.
    """
    steps = (torch.round(x.detach() / scale) + zero_point).clamp(low, high)
    return straight_through(x, (steps - zero_point) * scale)


def range_of(x: Tensor) -> tuple[Tensor, Tensor]:
    """The scale and zero point with which 8 bits without sign hold every number of `x`, and 0 exactly."""
    low, high = x.amin().clamp(max=0), x.amax().clamp(min=0)
    scale = torch.where(high == low, 1.0, (high - low) / 255)
    return scale, torch.round(-low / scale).clamp(0, 255).detach()


def round_dynamically(x: Tensor) -> Tensor:
    """Floats rounded to those that 8 bits hold with the range of `x`; the gradient passes straight through."""
    scale, place = range_of(x)
    return (quantize(x, scale, place, 0, 255) - place) * scale


def _placed(x: Tensor, rounded: Tensor) -> Tensor:
    """`rounded` with the gradient of `x`; where `x` is no finite number there is none."""
    return torch.where(x.isfinite(), straight_through(x, rounded), rounded)
