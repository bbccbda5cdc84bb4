"""Losses: weights, classes that are ignored, every reduction."""

import numpy as np
import pytest

from tests.migrate.frontends.onnx.ops.cases import Case, check, f32, x

LABELS = np.array([[0, 2, 1], [4, 2, 3]], dtype=np.int64)
SCORES = x(2, 5, 3)
WEIGHTS = f32(0.5, 1, 2, 0.1, 3)
CASES = [
    Case(
        op=op,
        inputs=(SCORES, LABELS.astype(dtype), weights),
        attributes={"reduction": reduction, **ignored},
        num_outputs=1 + (op == "SoftmaxCrossEntropyLoss" and reduction == "mean"),
        constants=(2,) if weights is not None else (),
        gradcheck=weights is None,
        note=f"{reduction}, weights={weights is not None}, {ignored}",
    )
    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
    for reduction in ("none", "mean", "sum")
    for weights, ignored, dtype in ((None, {}, "int64"), (WEIGHTS, {"ignore_index": 2}, "int32"))
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)
