"""Operators of the specification under names of ONNX Runtime, against ONNX Runtime."""

import numpy as np
import pytest

from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.ops.cases import Case, check, f32, graph_of, ints, x
from tests.migrate.frontends.onnx.ops.test_contrib_quant import S, Z, case, codes

IMAGE, KERNEL = codes(2, 6, 7, 3), codes(4, 3, 3, 3, seed=2, dtype=np.int8)
GRID = np.random.default_rng(0).uniform(-1.1, 1.1, (2, 3, 4, 2)).astype(np.float32)
CONV = (S, Z, KERNEL, f32(0.01, 0.02, 0.03, 0.005), np.zeros(4, np.int8), np.float32(0.4), np.uint8(90))
BIAS = np.random.default_rng(3).integers(-500, 500, 4).astype(np.int32)
WELL = x(2, 3, 3) + 4 * np.eye(3, dtype=np.float32)

CASES = [
    case("TransposeMatMul", x(2, 3, 4), x(2, 5, 4, seed=1), attributes={"transB": 1, "alpha": 0.5}, gradient=True),
    case("Trilu", x(2, 4, 4), np.array(1, np.int64), attributes={"upper": 0}, gradient=True),
    case("Range", np.array(1, np.int64), np.array(9, np.int64), np.array(2, np.int64)),
    case("Range", np.array(1, np.int64), np.array(5, np.int64), note="no step"),
    case("Pad", x(2, 3), ints(1, 0, 0, 2), np.array([0.5], np.float32), attributes={"mode": "constant"}, gradient=True),
    case("GatherND", x(3, 4, 2), np.array([[0, 1], [2, 3]], dtype=np.int64), gradient=True),
    case("GridSample", x(2, 3, 5, 6), GRID, attributes={"mode": "bilinear", "padding_mode": "border"}, gradient=True),
    case("ExpandDims", x(2, 3), np.array(1, np.int32), gradient=True),
    case("Inverse", WELL, gradient=True),
    case("CDist", x(3, 4), x(5, 4, seed=1), attributes={"metric": "sqeuclidean"}, gradient=True),
    case("CDist", x(3, 4), x(5, 4, seed=1), attributes={"metric": "euclidean"}, gradient=True),
    case("NhwcMaxPool", IMAGE, attributes={"kernel_shape": [2, 3], "strides": [2, 1], "pads": [0, 1, 1, 1]}),
    case("QLinearConv", IMAGE, *CONV, BIAS, constants=tuple(range(1, 9)), note="channels last",
         attributes={"channels_last": 1, "pads": [1, 1, 1, 1], "strides": [2, 1]}),
    case("QLinearConv", IMAGE.transpose(0, 3, 1, 2).copy(), *CONV, constants=tuple(range(1, 8)), note="channels first"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers(case: Case) -> None:
    check(case)


def test_another_distance_is_refused() -> None:
    with pytest.raises(MigrateError, match="cosine"):
        graph_of(case("CDist", x(3, 4), x(5, 4), attributes={"metric": "cosine"}))
