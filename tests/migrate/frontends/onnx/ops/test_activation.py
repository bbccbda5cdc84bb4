"""Activations and the softmax family."""

import pytest

from tests.migrate.frontends.onnx.ops.cases import Case, check, x

X = x(2, 3, 4, 5) * 3
CASES = [
    *(Case(op=op, inputs=(X,)) for op in ("Relu", "Sigmoid", "Tanh", "Softplus", "Softsign", "HardSwish", "LeakyRelu")),
    *(Case(op=op, inputs=(X,)) for op in ("Elu", "Selu", "Celu", "ThresholdedRelu", "HardSigmoid")),
    Case(op="Mish", inputs=(X,), opset=18, engine="reference"),
    Case(op="LeakyRelu", inputs=(X,), attributes={"alpha": 0.3}),
    Case(op="Elu", inputs=(X,), attributes={"alpha": 2.0}),
    Case(op="Selu", inputs=(X,), attributes={"alpha": 2.0, "gamma": 3.0}),
    Case(op="Celu", inputs=(X,), attributes={"alpha": 2.0}),
    Case(op="ThresholdedRelu", inputs=(X,), attributes={"alpha": 2.0}),
    Case(op="HardSigmoid", inputs=(X,), attributes={"alpha": 1 / 6, "beta": 0.5}),
    Case(op="HardSigmoid", inputs=(X,), attributes={"alpha": 0.5, "beta": 0.6}),
    Case(op="Gelu", inputs=(X,), opset=20),
    Case(op="Gelu", inputs=(X,), opset=20, attributes={"approximate": "tanh"}),
    Case(op="Shrink", inputs=(X,)),
    Case(op="Shrink", inputs=(X,), attributes={"lambd": 1.0, "bias": 1.0}),
    Case(op="Shrink", inputs=(X,), attributes={"lambd": 1.5, "bias": 0.5}),
    Case(op="PRelu", inputs=(X, x(3, 1, 1, seed=1)), note="a slope for each channel"),
    Case(op="PRelu", inputs=(X, x(1, seed=1)), note="one slope"),
    Case(
        op="PRelu",
        inputs=(X, x(3, seed=1)),
        opset=6,
        engine="reference",
        note="a slope for each channel, before opset 7",
    ),
    Case(op="PRelu", inputs=(X, x(5, seed=1)), note="a slope along the last axis"),
    Case(op="PRelu", inputs=(X, x(3, 1, 1, seed=1)), constants=(1,), note="a weight"),
    *(Case(op=op, inputs=(X,), attributes=a) for op in ("Softmax", "LogSoftmax") for a in ({}, {"axis": 1})),
    Case(op="Hardmax", inputs=(X,), attributes={"axis": 1}, gradient=False),
    Case(op="Hardmax", inputs=(X,), gradient=False),
    *(
        Case(op=op, inputs=(X,), opset=11, attributes={"axis": axis}, gradient=op != "Hardmax")
        for op in ("Softmax", "LogSoftmax", "Hardmax")
        for axis in (0, 1, 2, 3)
    ),
    Case(op="Softmax", inputs=(x(2, 7, 1, 1),), opset=9, attributes={"axis": 1}),
    Case(op="Softmax", inputs=(X,), opset=11, attributes={"axis": 2}, free=(0, 1)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)
