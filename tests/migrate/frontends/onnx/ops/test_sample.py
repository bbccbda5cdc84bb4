"""Aligned regions against ONNX Runtime, deformable convolutions against both engines' reference."""

import numpy as np
import pytest

from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.ops.cases import Case, check, f32, graph_of, ints, x

X = x(2, 4, 7, 9)
ROIS = f32(0.23, 0.77, 6.13, 5.37, -1.93, 1.11, 3.07, 9.41, 4.03, 4.09, 4.31, 4.27).reshape(3, 4)
CASES = [
    *(
        Case(
            op="RoiAlign",
            inputs=(X, ROIS, ints(0, 1, 1)),
            attributes={
                "mode": mode,
                "sampling_ratio": 2,
                "output_height": 3,
                "output_width": 2,
                "spatial_scale": 0.8,
                **extra,
            },
            opset=opset,
            gradcheck=mode == "avg",
            note=f"{mode} {extra}",
        )
        for mode in ("avg", "max")
        for opset, extra in ((10, {}), (16, {"coordinate_transformation_mode": "half_pixel"}))
    ),
    *(
        Case(
            op="DeformConv",
            inputs=(X, x(6, 4 // groups, 3, 2, seed=1), 0.7 * x(2, 12 * groups, 5, 5, seed=2), bias, mask),
            attributes={
                "group": groups,
                "offset_group": groups,
                "strides": [1, 2],
                "dilations": [2, 1],
                "pads": [1, 1, 1, 1],
            },
            opset=19,
            engine="reference",
            gradcheck=True,
            note=f"{groups} groups, mask={mask is not None}",
        )
        for groups, bias, mask in ((1, None, None), (2, x(6, seed=3), np.abs(x(2, 12, 5, 5, seed=4))))
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)


def test_a_number_of_samples_that_depends_on_the_data_is_refused() -> None:
    with pytest.raises(MigrateError, match="size of each region"):
        graph_of(Case(op="RoiAlign", inputs=(X, ROIS, ints(0, 1, 1)), opset=16))
