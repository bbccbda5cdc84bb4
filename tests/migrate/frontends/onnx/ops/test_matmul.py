"""Products of matrices; a product with a weight is a `linear`."""

import pytest

from tests.migrate.frontends.onnx.ops.cases import Case, check, graph_of, x

A, B, C = x(3, 4), x(4, 5, seed=1), x(5, seed=2)
CASES = [
    Case(op="MatMul", inputs=(A, B)),
    Case(op="MatMul", inputs=(x(2, 3, 4), B), constants=(1,), note="a weight"),
    Case(op="MatMul", inputs=(x(2, 3, 4), x(2, 4, 5, seed=1)), note="batched"),
    Case(op="MatMul", inputs=(x(4), B), constants=(1,), note="a vector"),
    *(Case(op="Gemm", inputs=(A, B, C), constants=c) for c in ((), (1, 2))),
    Case(op="Gemm", inputs=(A, B), note="without bias"),
    Case(op="Gemm", inputs=(A.T.copy(), B.T.copy(), C), attributes={"transA": 1, "transB": 1}),
    Case(op="Gemm", inputs=(A.T.copy(), B.T.copy(), C), attributes={"transA": 1, "transB": 1}, constants=(1, 2)),
    Case(op="Gemm", inputs=(A, B, x(3, 1)), attributes={"alpha": 0.5, "beta": 2.0}, constants=(1, 2)),
    Case(op="Einsum", inputs=(A, B), attributes={"equation": "ij, jk -> ik"}),
    Case(op="Einsum", inputs=(x(2, 3, 4), x(2, 4, 5)), attributes={"equation": "...ij,...jk->...ik"}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", [CASES[1], CASES[5], CASES[8]], ids=lambda c: c.id)
def test_a_weight_makes_a_linear(case: Case) -> None:
    graph = graph_of(case)
    assert graph.nodes[-1].op.name == "linear"
    weight = graph.nodes[-1].args[1]
    assert weight.shape == (5, 4) and weight.weight.source == "i1"
