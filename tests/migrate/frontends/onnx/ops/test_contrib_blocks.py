"""Quantised operators of text models, against ONNX Runtime."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.ops.cases import Case, check, f32, graph_of, ints, x
from tests.migrate.frontends.onnx.ops.test_contrib_quant import OUT_Z, S, Z, case, codes

WEIGHT, MASK = codes(8, 24, seed=1, dtype=np.int8), np.array([[1, 1, 0], [1, 1, 1]], dtype=np.int32)
COLUMNS = np.abs(x(24, seed=9)) / 50
ATTENTION = (codes(2, 3, 8), WEIGHT, x(24, seed=2), S, np.float32(0.01))
IDS, PLACES = np.array([[0, 3, 4], [1, 1, 2]], dtype=np.int32), ints(0, 2, 1)
TABLES = (codes(5, 8), codes(4, 8, seed=1), codes(2, 8, seed=2), codes(8, seed=3), codes(8, seed=4))
SCALES, ZEROS = tuple(np.float32(v) for v in (0.02, 0.03, 0.01, 0.02, 0.01)), (Z, Z, OUT_Z, np.uint8(3), Z)
BLOCK_SCALES = np.abs(x(5, 2, seed=5)) / 10


def few(*shape: int, dtype: Any) -> np.ndarray:
    """Numbers of four bits."""
    low = -8 if dtype is ml_dtypes.int4 else 0
    return np.random.default_rng(0).integers(low, low + 16, shape).astype(dtype)


def attention(*more: Any, note: str, constants: tuple[int, ...] = (1, 2, 3, 4, 6, 7), **attributes: Any) -> Case:
    given = (*ATTENTION, *more)
    return case(
        "QAttention", *given, note=note, constants=tuple(i for i in constants if i < len(given) and given[i] is not None),
        attributes={"num_heads": 2, **attributes},
    )  # fmt: skip


def embedding(*, segments: bool, mask: bool, note: str) -> Case:
    parts = tuple(v if segments or i != 2 else None for i, v in enumerate(TABLES))
    scales, zeros = ([v if segments or i != 2 else None for i, v in enumerate(g)] for g in (SCALES, ZEROS))
    given = (
        IDS,
        np.array([[0, 1, 1], [0, 0, 1]], dtype=np.int32) if segments else None,
        *parts,
        MASK if mask else None,
    )
    inputs = (*given, *scales, *zeros)
    constants = tuple(i for i, v in enumerate(inputs) if i > 1 and i != 7 and v is not None)
    return case("QEmbedLayerNormalization", *inputs, constants=constants, note=note, num_outputs=2)


CASES = [
    attention(None, Z, np.int8(0), note="plain"),
    attention(MASK, Z, np.int8(5), note="mask"),
    attention(None, Z, np.int8(0), note="causal", unidirectional=1),
    case("QAttention", *ATTENTION[:4], COLUMNS, None, Z, np.zeros(24, np.int8), constants=(1, 2, 3, 4, 6, 7),
         note="each column its scale", attributes={"num_heads": 2}),
    embedding(segments=True, mask=True, note="all"),
    embedding(segments=False, mask=False, note="without segments"),
    *(
        case("GatherBlockQuantized", few(5, 32, dtype=dtype), IDS, BLOCK_SCALES, zeros, constants=(0, 2, 3),
             attributes={"block_size": 16, "quantize_axis": 1, "gather_axis": 0},
             note=f"{np.dtype(dtype).name} {zeros is not None}")
        for dtype in (ml_dtypes.int4, ml_dtypes.uint4)
        for zeros in (None, few(5, 2, dtype=dtype))
    ),
    *(
        case("GatherBlockQuantized", codes(5, 32 * bits // 8), IDS, BLOCK_SCALES, zeros, constants=(0, 2, 3),
             attributes={"bits": bits, "block_size": 16, "quantize_axis": 1, "gather_axis": 0},
             note=f"bytes of {bits} bits {zeros is not None}")
        for bits in (4, 8)
        for zeros in (None, codes(5, 2 * bits // 8, seed=7))
    ),
    *(
        case("MatMulBnb4", x(3, 40), codes(120, seed=4), np.abs(x(15, seed=5)), constants=(1, 2), gradient=True,
             attributes={"K": 40, "N": 6, "block_size": 16, "quant_type": kind}, note=("floats", "quantiles")[kind])
        for kind in (0, 1)
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers(case: Case) -> None:
    check(case)


def test_a_computed_table_is_refused() -> None:
    computed = case("MatMulBnb4", x(3, 40), codes(120), f32(*[1.0] * 15), constants=(2,),
                    attributes={"K": 40, "N": 6, "block_size": 16, "quant_type": 1})  # fmt: skip
    with pytest.raises(MigrateError, match="computed weight"):
        graph_of(computed)
