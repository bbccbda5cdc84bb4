"""Each rewritten operator computes what it computed, and its float weight can be given other values."""

import numpy as np
import onnx_ir as ir
import onnxruntime
import pytest

from migrate.frontends.onnx import open_onnx
from migrate.frontends.onnx.float_weights import unpacked
from migrate.frontends.onnx.lift import opened
from tests.migrate.frontends.onnx.ops.cases import Case, expected, feeds_of, model_of
from tests.migrate.frontends.onnx.ops.test_contrib_blocks import CASES as BLOCKS
from tests.migrate.frontends.onnx.ops.test_contrib_quant import CASES as CONTRIB
from tests.migrate.frontends.onnx.ops.test_contrib_recurrent import CASES as RECURRENT
from tests.migrate.frontends.onnx.ops.test_contrib_variants import CASES as VARIANTS
from tests.migrate.frontends.onnx.ops.test_quant import CASES as QUANT

STORED = {
    "QLinearConv": 3, "QLinearMatMul": 3, "MatMulIntegerToFloat": 1, "DynamicQuantizeMatMul": 1, "MatMulInteger": 1,
    "ConvInteger": 1, "QGemm": 3, "MatMulNBits": 1, "MatMulBnb4": 1, "GatherBlockQuantized": 0, "QAttention": 1,
    "QEmbedLayerNormalization": 2, "DynamicQuantizeLSTM": 2,
}  # fmt: skip
ALL = (*QUANT, *CONTRIB, *BLOCKS, *RECURRENT, *VARIANTS)
CASES = [c for c in ALL if c.op in STORED and STORED[c.op] in c.constants]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_an_operator_with_a_float_weight_computes_the_same(case: Case) -> None:
    model = model_of(case)
    name = f"i{STORED[case.op]}.dequantized"
    rewritten = opened(open_onnx(model), {name})
    weight = {v.name: v for v in rewritten.graph.inputs}[name]
    assert weight.dtype == ir.DataType.FLOAT
    given = _values(case, name)
    session = onnxruntime.InferenceSession(
        ir.to_proto(rewritten).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    made = session.run(None, feeds_of(case) | {name: given})
    for got, want in zip(made, expected(case, model), strict=True):
        np.testing.assert_allclose(got.astype("float32"), want.astype("float32"), rtol=1e-5, atol=1e-5)


def _values(case: Case, name: str) -> np.ndarray:
    """What the importer reads as the float weight."""
    from migrate.frontends.onnx import load_onnx

    shapes = {k: v.shape for k, v in feeds_of(case).items()}
    graph = load_onnx(model_of(case), input_shapes=shapes)
    weight, *_ = [v.weight for v in graph.weights() if v.weight is not None and v.weight.source == name]
    return np.ascontiguousarray(weight.read())


def test_lowest_bits_come_first() -> None:
    assert unpacked(np.array([[0x21, 0x43]], dtype=np.uint8), 4, 3).tolist() == [[1, 2, 3]]
    assert unpacked(np.array([[0b11100100]], dtype=np.uint8), 2, 4).tolist() == [[0, 1, 2, 3]]
