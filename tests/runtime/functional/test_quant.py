"""Rounding to few bits: against the types of ml_dtypes, and the gradients that pass through."""

import ml_dtypes
import numpy as np
import pytest
import torch

from runtime.functional.quant import (
    fake_quantize,
    quantize,
    range_of,
    round_dynamically,
    round_float4,
    round_float8,
    round_power,
    unrounded,
    wrap,
)

EDGES = np.concatenate([np.linspace(-7, 7, 2001), np.linspace(-70000, 70000, 2001), np.linspace(-500, 500, 2001)])
NUMBERS = np.concatenate([EDGES, [np.nan, 0.0, -0.0, 1e-9]]).astype(np.float32)


@pytest.mark.parametrize("kind", ["e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz"])
@pytest.mark.parametrize("saturate", [True, False])
def test_floats_of_8_bits(kind: str, saturate: bool) -> None:
    dtype = getattr(ml_dtypes, f"float8_{kind}")
    largest = float(ml_dtypes.finfo(dtype).max)
    given = NUMBERS.clip(-largest, largest) if saturate else NUMBERS
    made = round_float8(torch.from_numpy(NUMBERS), kind, saturate).numpy()
    np.testing.assert_array_equal(made, given.astype(dtype).astype(np.float32))


def test_floats_of_4_bits() -> None:
    made = round_float4(torch.from_numpy(NUMBERS)).numpy()
    np.testing.assert_array_equal(made, NUMBERS.astype(ml_dtypes.float4_e2m1fn).astype(np.float32))


def test_powers_of_two() -> None:
    given = torch.tensor([1.0, 1.25, 1.5, 1.75, 3.0, 0.0, torch.inf, 3e38])
    assert round_power(given, mode="up")[:5].tolist() == [1, 2, 2, 2, 4]
    assert round_power(given, mode="down")[:5].tolist() == [1, 1, 1, 1, 2]
    assert round_power(given, mode="nearest")[:5].tolist() == [1, 1, 2, 2, 4]
    assert round_power(given)[5:].tolist()[::2] == [2.0**-127, 2.0**127]
    assert round_power(given)[6].isnan()
    assert round_power(given, saturate=False)[7].isnan()


@pytest.mark.parametrize(("low", "high", "dtype"), [(-8, 7, np.int8), (0, 15, np.uint8), (-2, 1, np.int8)])
def test_bits_are_dropped(low: int, high: int, dtype: type) -> None:
    given = np.arange(-100, 100, dtype=np.int64)
    bits = given & (high - low)
    wanted = np.where(bits > high, bits - (high - low + 1), bits)
    assert wrap(torch.from_numpy(given), low, high).tolist() == wanted.tolist()
    assert wrap(torch.arange(0, 100, dtype=torch.uint8), low, high).dtype == torch.uint8


def test_the_gradient_passes_inside_the_range_only() -> None:
    x = torch.tensor([0.26, -5.0, 9.0], requires_grad=True)
    made = quantize(x, 0.5, 1.0, 0, 15)
    made.sum().backward()
    assert made.tolist() == [2.0, 0.0, 15.0]
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 0.0, 0.0]


def test_without_rounding_differences_give_the_gradient() -> None:
    x = torch.randn(5, dtype=torch.float64, requires_grad=True)
    with unrounded():
        assert torch.autograd.gradcheck(lambda v: quantize(v, 0.01, 3.0, -500, 500), x)
    assert quantize(x, 0.01, 3.0, -500, 500).frac().abs().sum() == 0


def test_fake_quantisation_rounds_and_passes_every_gradient() -> None:
    x = torch.tensor([0.004, -0.016, 5.0], requires_grad=True)
    made = fake_quantize(x, 0.01, 3.0, -128, 127)
    torch.testing.assert_close(made.detach(), torch.tensor([0.0, -0.02, 1.24]))
    made.sum().backward()
    torch.testing.assert_close(x.grad, torch.ones(3))


def test_a_range_holds_zero_and_every_number() -> None:
    scale, place = range_of(torch.tensor([1.0, 2.0, 4.0]))
    assert (float(scale), float(place)) == (pytest.approx(4 / 255), 0.0)
    scale, place = range_of(torch.tensor([-1.0, 3.0]))
    assert float(place) == 64.0


def test_nothing_but_zero_has_no_range() -> None:
    scale, place = range_of(torch.zeros(3))
    assert (float(scale), float(place)) == (1.0, 0.0)
    assert not round_dynamically(torch.zeros(3)).any()
