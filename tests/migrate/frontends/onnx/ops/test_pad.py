"""Cutting or padding to a size, both in one call; padding itself is held with the shapes."""

import pytest

from tests.migrate.frontends.onnx.ops.cases import Case, check, ints, x

CASES = [
    Case(
        op="CenterCropPad",
        inputs=(x(5, 8, 3), ints(*sizes)),
        constants=(1,),
        opset=18,
        attributes=axes,
        engine="reference",
        gradcheck=True,
        note=f"{sizes}",
    )
    for sizes, axes in (((2, 5, 3), {}), ((8, 8, 6), {}), ((8, 3), {"axes": [-2, 0]}))
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)
