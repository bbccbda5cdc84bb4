"""Every case of the tables beside this file through the emitted code: numbers, and gradients against differences in float64.

A rotating quarter by default, the whole as `slow`.
"""

from __future__ import annotations

import datetime
import importlib
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.migrate.frontends.onnx.emitted import Emitted
from tests.migrate.frontends.onnx.ops.cases import TOLERANCE, Case, expected, feeds_of, model_of

QUARTER = datetime.datetime.now(tz=datetime.UTC).timetuple().tm_yday % 4  # another one each day
# Where differences are not the gradient, by the beginning of a case's id.
NOT_SMOOTH = {
    "DynamicQuantize": "the gradient passes straight through what is rounded",
    "Normalizer-17-norm=L": "one row is zero, where a norm has no derivative",
    "Round-17-halves": "halves, where it jumps",
    "TopK-": "equal numbers, of which a difference changes which are chosen",
}


def tables() -> Iterator[tuple[str, Case]]:
    """Every case, with the family whose table holds it."""
    for module in sorted(path.stem for path in Path(__file__).parent.glob("test_*.py")):
        if module != "test_emitted":
            found = importlib.import_module(f"{__name__.rpartition('.')[0]}.{module}")
            yield from ((module.removeprefix("test_"), case) for case in getattr(found, "CASES", ()))


ALL = list(tables())


def hold(case: Case) -> None:
    """The source's own numbers, and gradients that differences confirm."""
    model = model_of(case)
    feeds = feeds_of(case)
    emitted = Emitted(model, {name: v.shape for name, v in feeds.items() if not (case.free and name == "i0")})
    tensors = [torch.from_numpy(v.copy()) for v in feeds.values()]
    for got, want in zip(emitted(*tensors), expected(case, model), strict=True):
        assert (tuple(got.shape), got.numpy(force=True).dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got.numpy(force=True), want, rtol=TOLERANCE, atol=TOLERANCE)
    if case.gradient and not case.id.startswith(tuple(NOT_SMOOTH)):
        differentiate(emitted.in_float64(), tensors)


def differentiate(emitted: Emitted, tensors: list[torch.Tensor]) -> None:
    """Hold the gradients at every float input against differences."""
    wide = [t.detach().double().requires_grad_() if t.is_floating_point() else t for t in tensors]
    if any(t.requires_grad for t in wide):
        assert torch.autograd.gradcheck(
            lambda *given: [o for o in emitted(*given) if o.requires_grad], wide, fast_mode=True
        )


def part(index: int) -> list[object]:
    """One quarter, drawn by the cases' names so that each family has some in it."""
    return [
        pytest.param(case, id=f"{family}-{case.id}", marks=() if index == QUARTER else pytest.mark.slow)
        for family, case in ALL
        if zlib.crc32(case.id.encode()) % 4 == index
    ]


@pytest.mark.parametrize("case", [param for index in range(4) for param in part(index)])
def test_numbers_and_gradients_of_the_emitted_code(case: Case) -> None:
    hold(case)


def test_what_is_not_smooth_is_in_a_table() -> None:
    assert all(any(case.id.startswith(start) for _, case in ALL) for start in NOT_SMOOTH)
