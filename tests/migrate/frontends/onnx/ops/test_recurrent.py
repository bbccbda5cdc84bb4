"""LSTM, GRU and RNN: directions, states, biases; what torch has not is refused."""

import numpy as np
import pytest
import torch

from migrate.errors import MigrateError
from migrate.graph import interpret
from migrate.graph.passes import run_passes
from tests.migrate.frontends.onnx.ops.cases import Case, check, feeds_of, graph_of, ints, x

T, N, F, H = 5, 3, 4, 6
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(op: str, direction: str, *, bias: bool, state: bool, weights: bool = True, **more: object) -> Case:
    d, g = (2 if direction == "bidirectional" else 1), GATES[op]
    inputs = [x(T, N, F), x(d, g * H, F, seed=1) * 0.5, x(d, g * H, H, seed=2) * 0.5]
    inputs += [x(d, 2 * g * H, seed=3) if bias else None, None]
    if state:
        inputs += [x(d, N, H, seed=4 + i) for i in range(2 if op == "LSTM" else 1)]
    while inputs[-1] is None:
        inputs.pop()
    constants = tuple(i for i in (1, 2, 3) if i < len(inputs) and inputs[i] is not None) if weights else ()
    note = f"{direction}_bias={bias}_state={state}_weights={weights}_{more}"
    attributes = {"direction": direction, "hidden_size": H, **more}
    outputs = 3 if op == "LSTM" else 2
    return Case(op=op, inputs=tuple(inputs), attributes=attributes, constants=constants, num_outputs=outputs, note=note)


CASES = [
    *(
        recurrent(op, direction, bias=bias, state=bias)
        for op in GATES
        for direction in ("forward", "reverse", "bidirectional")
        for bias in (False, True)
    ),
    *(recurrent(op, "bidirectional", bias=True, state=True, weights=False) for op in GATES),
    *(
        recurrent("GRU", direction, bias=bias, state=True, linear_before_reset=1)
        for direction in ("forward", "bidirectional")
        for bias in (False, True)
    ),
    recurrent("RNN", "forward", bias=True, state=True, activations=["Relu"]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    ("op", "more"),
    [("LSTM", {}), ("RNN", {}), ("GRU", {"linear_before_reset": 1}), ("GRU", {"linear_before_reset": 0})],
)
def test_all_weights_of_a_layer_are_parameters(op: str, more: dict[str, int]) -> None:
    graph = graph_of(recurrent(op, "bidirectional", bias=True, state=False, **more))
    run_passes(graph)
    assert [v.weight.role for v in graph.weights() if v.weight] == ["parameter"] * 8


def test_a_state_of_one_row_serves_every_sample() -> None:
    case = recurrent("LSTM", "forward", bias=True, state=True)
    shared = (*case.inputs[:5], x(1, 1, H, seed=8), x(1, 1, H, seed=9))
    given = Case(
        op="LSTM", inputs=shared, attributes=case.attributes, constants=(1, 2, 3, 5, 6), num_outputs=3, free=(1,)
    )
    full = Case(
        op="LSTM",
        inputs=(*shared[:5], *(np.repeat(s, N, 1) for s in shared[5:])),
        attributes=case.attributes,
        constants=(1, 2, 3, 5, 6),
        num_outputs=3,
    )
    (feed,) = feeds_of(full).values()
    for got, want in zip(
        interpret(graph_of(given), torch.from_numpy(feed)),
        interpret(graph_of(full), torch.from_numpy(feed)),
        strict=True,
    ):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize(
    ("attributes", "inputs", "reason"),
    [
        ({"clip": 1.0}, {}, "clips"),
        ({"layout": 1}, {}, "batch first"),
        ({"input_forget": 1}, {}, "coupled"),
        ({"activations": ["Relu", "Tanh", "Tanh"]}, {}, "other activations"),
        ({}, {4: np.array([5, 4, 3], dtype=np.int32)}, "different lengths"),
        ({}, {7: x(1, 3 * H)}, "peepholes"),
    ],
)
def test_what_torch_has_not_is_refused(attributes: dict, inputs: dict, reason: str) -> None:
    case = recurrent("LSTM", "forward", bias=True, state=True)
    given = [*case.inputs, None]
    for place, value in inputs.items():
        given[place] = value
    constants = (*case.constants, *inputs)
    refused = Case(op="LSTM", inputs=tuple(given), attributes={**case.attributes, **attributes}, constants=constants)
    with pytest.raises(MigrateError, match=reason):
        graph_of(refused)


def test_lengths_that_are_all_the_whole_length_are_no_obstacle() -> None:
    case = recurrent("LSTM", "forward", bias=True, state=True)
    lengths = ints(T, T, T).astype(np.int32)
    check(
        Case(
            op="LSTM",
            inputs=(*case.inputs[:4], lengths, *case.inputs[5:]),
            attributes=case.attributes,
            constants=(1, 2, 3, 4),
            num_outputs=3,
        )
    )
