"""Attention as ONNX Runtime's optimiser joins it, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

from migrate.errors import MigrateError
from tests.migrate.frontends.onnx.ops.cases import Case, check, graph_of, ints, x

Q, K, V = x(2, 3, 16), x(2, 5, 16, seed=1), x(2, 5, 16, seed=2)
SEEN = np.array([[1, 1, 1, 1, 0], [1, 1, 0, 1, 1]], dtype=np.int32)
COS, SIN = np.cos(x(9, 4, seed=5)), np.sin(x(9, 4, seed=5))
WIDE_COS, WIDE_SIN = np.cos(x(9, 8, seed=5)), np.sin(x(9, 8, seed=5))
PLACES = np.array([[0, 3, 6], [2, 2, 1]], dtype=np.int64)
GROUPED = (x(2, 3, 64), x(2, 3, 32, seed=1), x(2, 3, 32, seed=2))
PAST = x(2, 2, 4, 16, seed=3), x(2, 2, 4, 16, seed=4)
LAST, TOTAL = np.array([2, 2], dtype=np.int32), np.int32(3)


def case(op: str, *inputs: Any, note: str, **attributes: Any) -> Case:
    return Case(
        op=op,
        domain="com.microsoft",
        inputs=inputs,
        attributes=attributes,
        num_outputs=attributes.pop("num_outputs", 1),
        constants=attributes.pop("constants", ()),
        gradcheck=attributes.pop("gradcheck", True),
        note=note,
    )


CASES = [
    case("MultiHeadAttention", Q, K, V, num_heads=4, note="plain"),
    case("MultiHeadAttention", Q, K, V, x(48, seed=3), num_heads=4, scale=0.2, note="bias"),
    case("MultiHeadAttention", Q, K, V, None, SEEN, num_heads=4, note="padding"),
    case("MultiHeadAttention", Q, K, V, None, np.array([4, 2], dtype=np.int32), num_heads=4, note="lengths"),
    case("MultiHeadAttention", Q, K, V, None, None, x(2, 4, 3, 5, seed=4), num_heads=4, note="numbers added"),
    case("MultiHeadAttention", Q, K[:, :3], V[:, :3], num_heads=4, unidirectional=1, note="causal"),
    case("MultiHeadAttention", Q, K[:, :3], V[:, :3], None, None, None, x(2, 4, 2, 4, seed=5), x(2, 4, 2, 4, seed=6),
         num_heads=4, num_outputs=3, note="past"),
    case("Attention", x(2, 3, 8), x(8, 24, seed=1), x(24, seed=2), num_heads=2, note="plain"),
    case("Attention", x(2, 3, 8), x(8, 24, seed=1), x(24, seed=2), SEEN[:, 1:4], num_heads=2, note="padding"),
    case("Attention", x(2, 3, 8), x(8, 24, seed=1), x(24, seed=2), num_heads=2, unidirectional=1, note="causal"),
    case("Attention", x(2, 3, 8), x(8, 20, seed=1), x(20, seed=2), num_heads=2, qkv_hidden_sizes=[8, 8, 4],
         note="narrow values"),
    case("RotaryEmbedding", x(2, 3, 16), PLACES, COS, SIN, note="flat"),
    case("RotaryEmbedding", x(2, 2, 3, 8), PLACES, COS, SIN, interleaved=1, note="neighbours"),
    case("RotaryEmbedding", x(2, 3, 16), ints(2), COS, SIN, note="a first place"),
    case("GroupQueryAttention", *GROUPED, None, None, LAST, TOTAL, num_heads=4, kv_num_heads=2, num_outputs=3, note="plain",
         constants=(5, 6)),
    case("GroupQueryAttention", *GROUPED, None, None, LAST, TOTAL, WIDE_COS, WIDE_SIN, num_heads=4, kv_num_heads=2, do_rotary=1,
         num_outputs=3, note="rotary", constants=(5, 6, 7, 8), gradcheck=False),
    case("GroupQueryAttention", x(2, 3, 128), None, None, None, None, LAST, TOTAL, num_heads=4, kv_num_heads=2, num_outputs=3,
         note="all in one", constants=(5, 6)),
    case("GroupQueryAttention", *GROUPED, None, None, LAST, TOTAL, num_heads=4, kv_num_heads=2, local_window_size=2, scale=0.2,
         num_outputs=3, note="a window", constants=(5, 6)),
    case("GroupQueryAttention", *(v[:, :1] for v in GROUPED), *PAST, LAST + 2, TOTAL + 2, WIDE_COS, WIDE_SIN,
         num_heads=4, kv_num_heads=2, do_rotary=1, num_outputs=3, note="past", constants=(5, 6, 7, 8), gradcheck=False),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)


def test_packed_inputs_are_refused() -> None:
    with pytest.raises(MigrateError, match="in one tensor"):
        graph_of(case("MultiHeadAttention", x(2, 3, 4, 3, 4), num_heads=4, note=""))
