"""Quantised operators of ONNX Runtime, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

from tests.migrate.frontends.onnx.ops.cases import Case, check, f32, graph_of, x


def codes(*shape: int, seed: int = 0, dtype: type = np.uint8) -> np.ndarray:
    bounds = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(bounds.min, bounds.max + 1, shape).astype(dtype)


A, B = codes(2, 3, 4, 5), codes(2, 3, 4, 5, seed=1)
S, Z, OUT, OUT_Z = np.float32(0.02), np.uint8(120), np.float32(0.05), np.uint8(100)
EACH = f32(0.01, 0.02, 0.03, 0.04, 0.05)
SIGNED = codes(8, 5, seed=2, dtype=np.int8)


def case(op: str, *inputs: Any, note: str = "", **more: Any) -> Case:
    known = tuple(i for i, v in enumerate(inputs) if v is not None and np.ndim(v) < 2)
    constants = more.pop("constants", known)
    return Case(
        op=op, domain="com.microsoft", inputs=inputs, constants=constants, note=note, **{"gradient": False, **more}
    )


CASES = [
    case("QuantizeLinear", x(3, 4), S, Z),
    case("DequantizeLinear", A, S, Z),
    case("QLinearAdd", A, S, Z, B, np.float32(0.03), np.uint8(90), OUT, OUT_Z),
    case("QLinearAdd", A.view(np.int8), S, np.int8(3), B.view(np.int8), S, np.int8(-7), OUT, np.int8(0), note="signed"),
    case("QLinearMul", A, S, Z, B, np.float32(0.03), np.uint8(90), OUT, OUT_Z),
    case("QLinearSigmoid", A, S, Z, np.float32(1 / 256), np.uint8(0)),
    case("QLinearLeakyRelu", A, S, Z, OUT, OUT_Z, attributes={"alpha": 0.2}),
    case("QLinearSoftmax", A, S, Z, np.float32(1 / 256), np.uint8(0), attributes={"opset": 13, "axis": -1}),
    case("QLinearConcat", OUT, OUT_Z, A, S, Z, B, np.float32(0.03), np.uint8(90), attributes={"axis": 1}),
    case("QLinearGlobalAveragePool", A, S, Z, OUT, OUT_Z),
    case("QLinearAveragePool", A, S, Z, OUT, OUT_Z, attributes={"kernel_shape": [2, 2], "strides": [2, 1]}),
    case("QLinearAveragePool", A, S, Z, OUT, OUT_Z, note="channels last",
         attributes={"kernel_shape": [2, 2], "strides": [2, 1], "channels_last": 1}),
    case("QLinearWhere", A > 100, A, S, Z, B, np.float32(0.03), np.uint8(90), OUT, OUT_Z),
    case("MatMulIntegerToFloat", codes(3, 8), SIGNED, S, EACH, Z, np.zeros(5, np.int8), x(5), constants=(1, 2, 3, 4, 5, 6)),
    case("MatMulIntegerToFloat", codes(3, 8), codes(8, 5, seed=3), S, S, Z, np.uint8(9), note="one scale"),
    case("DynamicQuantizeMatMul", x(3, 8), SIGNED, EACH, np.zeros(5, np.int8), x(5), constants=(1, 2, 3, 4), gradient=True),
    case("QGemm", codes(3, 8), S, Z, SIGNED, S, np.int8(0), codes(5, dtype=np.int32) % 500, OUT, OUT_Z,
         constants=(1, 2, 3, 4, 5, 6, 7, 8)),
    case("MatMulNBits", x(3, 40), codes(6, 3, 8, seed=4), np.abs(x(18, seed=5)) / 10, None, None, x(6, seed=7), gradient=True,
         constants=(1, 2, 5), attributes={"K": 40, "N": 6, "bits": 4, "block_size": 16}, note="bias"),
    *(
        case("MatMulNBits", x(3, 40), codes(6, 3, 16 * bits // 8, seed=4), np.abs(x(18, seed=5)) / 10, zeros,
             constants=(1, 2, 3), attributes={"K": 40, "N": 6, "bits": bits, "block_size": 16}, gradient=True,
             note=f"{bits} bits, zeros={zeros is not None}")
        for bits, zeros in ((4, None), (4, codes(12, seed=6)), (8, None))
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers(case: Case) -> None:
    check(case)


def test_a_weight_of_few_bits_is_a_float_parameter() -> None:
    (node,) = graph_of(CASES[-1]).nodes
    assert node.op.name == "linear"
    assert (node.args[1].dtype, node.args[1].shape) == ("float32", (6, 40))
