"""LSTM, GRU and RNN in every form against ONNX Runtime and the reference, with gradients; which are torch's own layers."""

from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest
import torch

import migrate
from migrate.errors import MigrateError
from migrate.graph import interpret
from migrate.graph.passes import run_passes
from tests.migrate.frontends.onnx.agreement import agree
from tests.migrate.frontends.onnx.ops.cases import Case, check, expected, feeds_of, graph_of, model_of, x
from tests.onnx_files import build, node

T, N, F, H = 5, 3, 4, 6
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
DIRECTIONS = ("forward", "reverse", "bidirectional")
LENGTHS = np.array([5, 1, 3], dtype=np.int32)
NUMBERS = {
    "Affine": ((0.7,), (0.1,)), "Elu": ((0.5,), ()), "HardSigmoid": ((0.3,), (0.4,)), "LeakyRelu": ((0.1,), ()),
    "Relu": ((), ()), "ScaledTanh": ((0.8,), (1.2,)), "Sigmoid": ((), ()), "Softplus": ((), ()), "Softsign": ((), ()),
    "Tanh": ((), ()), "ThresholdedRelu": ((0.2,), ()),
}  # fmt: skip


def recurrent(
    op: str, direction: str = "forward", *, bias: bool = True, state: bool = True, lengths: Any = None,
    peepholes: bool = False, weights: bool = True, scale: float = 1.0, engine: str = "onnxruntime",
    gradcheck: bool = False, **more: Any,
) -> Case:  # fmt: skip
    """A layer; `weights` says whether its weights are constants or inputs, `scale` makes them smaller."""
    d, g = (2 if direction == "bidirectional" else 1), GATES[op]
    half = 0.5 * scale
    by_batch = (lambda a: a.swapaxes(0, 1)) if more.get("layout") else (lambda a: a)
    inputs: list[Any] = [by_batch(x(T, N, F)), x(d, g * H, F, seed=1) * half, x(d, g * H, H, seed=2) * half]
    inputs += [x(d, 2 * g * H, seed=3) if bias else None, lengths]
    states = 2 if op == "LSTM" else 1
    inputs += [by_batch(x(d, N, H, seed=4 + i)) if state else None for i in range(states)]
    inputs += [x(d, 3 * H, seed=8)] if peepholes else []
    while inputs[-1] is None:
        inputs.pop()
    fixed = (1, 2, 3, 7) if weights else ()
    constants = tuple(i for i in (*fixed, 4) if i < len(inputs) and inputs[i] is not None)
    told = {"bias": bias, "state": state, "lengths": lengths is not None, "peepholes": peepholes}
    note = "-".join([direction, *(k for k, v in told.items() if v), *(str(v).strip("[']") for v in more.values())])
    attributes = {"direction": direction, "hidden_size": H, **more}
    return Case(
        op=op, inputs=tuple(inputs), attributes=attributes, constants=constants, num_outputs=1 + states, note=note,
        engine=engine, gradcheck=gradcheck,
    )  # fmt: skip


def activated(op: str, name: str, direction: str = "forward") -> Case:
    """A layer all of whose activations are one, with the numbers of its own."""
    count = {"LSTM": 3, "GRU": 2, "RNN": 1}[op] * (2 if direction == "bidirectional" else 1)
    alpha, beta = NUMBERS[name]
    numbers: dict[str, Any] = {"activation_alpha": alpha * count, "activation_beta": beta * count}
    given = {key: value for key, value in numbers.items() if value}
    return recurrent(op, direction, scale=0.2, activations=[name] * count, **given)


def with_free_batch(case: Case) -> onnx.ModelProto:
    """Its model with a batch of any size; what depends on the batch must be an input or absent."""
    model = model_of(case)
    for given in model.graph.input:
        axis = 1 if len(given.type.tensor_type.shape.dim) == 3 else 0
        given.type.tensor_type.shape.dim[axis].dim_param = "N"
    return model


FORMS: dict[str, tuple[dict[str, Any], ...]] = {
    "LSTM": (
        {},
        {"clip": 0.4},
        {"input_forget": 1},
        {"peepholes": True},
        {"peepholes": True, "clip": 0.4, "input_forget": 1},
    ),
    "GRU": ({}, {"linear_before_reset": 1}, {"clip": 0.4}, {"clip": 0.4, "linear_before_reset": 1}),
    "RNN": ({}, {"clip": 0.4}, {"activations": "Relu"}),
}


def form_of(form: dict[str, Any], direction: str) -> dict[str, Any]:
    """The form with an activation for each direction."""
    count = 2 if direction == "bidirectional" else 1
    return form | {key: [value] * count for key, value in form.items() if key == "activations"}


CASES = [recurrent(op, **form_of(form, "forward")) for op in GATES for form in FORMS[op]]
FURTHER = [
    *(
        recurrent(op, direction, bias=whole, state=whole, lengths=lengths, **form_of(form, direction))
        for op in GATES
        for form, direction, whole, lengths in product(FORMS[op], DIRECTIONS, (False, True), (None, LENGTHS))
    ),
    *(activated(op, name) for op in GATES for name in NUMBERS),
    *(activated("LSTM", name, "bidirectional") for name in ("HardSigmoid", "LeakyRelu", "ScaledTanh")),
    recurrent("LSTM", activations=["HardSigmoid", "Affine", "LeakyRelu"], activation_alpha=[0.3, 0.9, 0.2],
              activation_beta=[0.4, 0.1]),
    recurrent("GRU", "bidirectional", activations=["HardSigmoid", "Tanh", "Sigmoid", "Elu"], activation_alpha=[0.3, 0.9]),
    *(recurrent("RNN", activations=[name]) for name in ("Elu", "LeakyRelu", "HardSigmoid")),
    *(
        recurrent(op, direction, engine="reference", layout=1, **form)
        for op, direction in product(GATES, DIRECTIONS)
        for form in FORMS[op]
        if not {"clip", "input_forget", "activations"} & set(form)
    ),
    *(
        recurrent(op, "bidirectional", engine="reference", **form)
        for op in GATES
        for form in FORMS[op]
        if not {"clip", "input_forget", "activations"} & set(form)
    ),
]  # fmt: skip
SMOOTH = [
    recurrent(op, direction, weights=False, gradcheck=True, lengths=lengths, **form)
    for op in GATES
    for form in FORMS[op]
    for direction, lengths in (("reverse", None), ("bidirectional", LENGTHS))
    if "activations" not in form
]


@pytest.mark.parametrize("case", [*CASES, *FURTHER], ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", SMOOTH, ids=lambda c: c.id)
def test_gradients_are_those_of_differences(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    ("case", "op"),
    [
        (recurrent("LSTM"), "lstm"),
        (recurrent("LSTM", lengths=np.full(N, T, dtype=np.int32)), "lstm"),
        (recurrent("LSTM", "bidirectional", activations=["sigmoid", "tanh", "tanh"] * 2), "lstm"),
        (recurrent("LSTM", layout=1), "lstm"),
        (recurrent("GRU", linear_before_reset=1), "gru"),
        (recurrent("RNN"), "rnn_tanh"),
        (recurrent("RNN", activations=["Relu"]), "rnn_relu"),
        (recurrent("LSTM", lengths=LENGTHS), "stepwise_lstm"),
        (recurrent("LSTM", clip=9.0), "stepwise_lstm"),
        (recurrent("LSTM", input_forget=1), "stepwise_lstm"),
        (recurrent("LSTM", peepholes=True), "stepwise_lstm"),
        (recurrent("LSTM", activations=["Tanh", "Tanh", "Tanh"]), "stepwise_lstm"),
        (recurrent("GRU"), "stepwise_gru"),
        (recurrent("RNN", activations=["Softsign"]), "stepwise_rnn"),
    ],
    ids=lambda v: v.id if isinstance(v, Case) else v,
)
def test_what_is_torchs_layer_becomes_one(case: Case, op: str) -> None:
    assert op in [node.op.name for node in graph_of(case).nodes]


@pytest.mark.parametrize("case", [recurrent("LSTM"), recurrent("LSTM", clip=9.0), recurrent("GRU")], ids=lambda c: c.id)
def test_no_step_is_inferred_beyond_the_first(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inference took 0.5 s for a short LSTM while it ran every step at each of the sampled sizes."""
    lengths: list[int] = []
    op = next(node.op for node in graph_of(case).nodes if node.op.family == "recurrent")
    true = op.callable()
    monkeypatch.setattr(
        "migrate.graph.ops._import", lambda target: lambda x, *a, **k: lengths.append(len(x)) or true(x, *a, **k)
    )
    outline = op.outline()
    like = [torch.empty(7, 2, F, device="meta"), torch.empty(1, 2, H, device="meta")]
    weights = [torch.empty(s, device="meta") for s in ((GATES[case.op] * H, F), (GATES[case.op] * H, H))]
    states = (like[1], like[1]) if case.op == "LSTM" else like[1]
    args = () if op.name.startswith("stepwise") else (False, 1, 0.0, False, False, False)
    y, *_ = outline(like[0], states, weights, *args)
    assert (tuple(y.shape), lengths) == ((7, 2, H), [1])


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("form", [{}, {"clip": 3.0}], ids=str)
def test_all_weights_of_a_layer_are_parameters_with_the_names_that_torch_gives(op: str, form: dict[str, Any]) -> None:
    case = recurrent(op, "bidirectional", state=False, **form)
    graph = graph_of(case)
    run_passes(graph)
    assert [v.weight.role for v in graph.weights() if v.weight and v.is_float] == ["parameter"] * 8
    names = [name.rpartition(".")[2] for name, _ in migrate.to_module(with_free_batch(case)).named_parameters()]
    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    assert names == [f"{kind}_l0{way}" for way in ("", "_reverse") for kind in kinds]


def test_peepholes_are_parameters() -> None:
    module = migrate.to_module(with_free_batch(recurrent("LSTM", state=False, peepholes=True)))
    named = dict(module.named_parameters())
    assert named["weight_peephole_l0"].shape == (3 * H,)
    module(torch.from_numpy(x(T, N, F)))[0].sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in named.values())


@pytest.mark.parametrize("used", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("form", [{}, {"clip": 0.4}], ids=str)
def test_any_of_the_outputs(used: tuple[int, ...], form: dict[str, Any]) -> None:
    case = recurrent("LSTM", state=False, **form)
    model = with_free_batch(case)
    (node,) = model.graph.node
    wanted = [expected(case, model)[i] for i in used]
    node.output[:] = [f"o{i}" if i in used else "" for i in range(max(used) + 1)]
    kept = [output for output in model.graph.output if output.name in node.output]
    del model.graph.output[:]
    model.graph.output.extend(kept)
    made = migrate.to_module(model)(torch.from_numpy(case.inputs[0]))
    for got, want in zip(made if len(used) > 1 else (made,), wanted, strict=True):
        np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", [{}, {"clip": 0.4}], ids=str)
def test_a_cell_state_may_be_absent_where_the_hidden_one_is_given(form: dict[str, Any]) -> None:
    case = recurrent("LSTM", **form)
    check(Case(op="LSTM", inputs=case.inputs[:6], attributes=case.attributes, constants=(1, 2, 3), num_outputs=3))


def test_lengths_that_are_an_input_are_heeded() -> None:
    case = recurrent("GRU", "bidirectional", lengths=LENGTHS)
    check(Case(op="GRU", inputs=case.inputs, attributes=case.attributes, constants=(1, 2, 3), num_outputs=2))


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


def test_an_activation_that_no_one_knows_is_refused() -> None:
    with pytest.raises(MigrateError, match="Swish"):
        graph_of(recurrent("RNN", activations=["Swish"]))


@pytest.mark.parametrize("name", ["Affine", "ScaledTanh", "ThresholdedRelu"])
def test_an_activation_whose_numbers_engines_choose_unlike_is_refused_without_them(name: str) -> None:
    with pytest.raises(MigrateError, match=f"{name}.*without"):
        graph_of(recurrent("RNN", activations=[name]))


@pytest.mark.parametrize("batch", ["N", "M", 1, 4])
@pytest.mark.parametrize(("op", "outputs"), [("LSTM", ["", "y"]), ("LSTM", ["", "", "y"]), ("GRU", ["", "y"])])
def test_the_batch_lies_behind_the_time(op: str, outputs: list[str], batch: str | int) -> None:
    """Of a sequence that a layer reads as it is, even where only the last state is used."""
    weights = {"W": x(1, GATES[op] * H, F), "R": x(1, GATES[op] * H, H, seed=1)}
    read = node(op, ["x", "W", "R"], outputs, hidden_size=H)
    graph, _ = agree(build([read], weights, inputs=("x", (T, batch, F))))
    assert graph.batch_axes == {"x": 1}


def test_the_batch_comes_first_where_the_layer_says_so() -> None:
    weights = {"W": x(1, 3 * H, F), "R": x(1, 3 * H, H, seed=1)}
    read = node("GRU", ["x", "W", "R"], ["", "y"], hidden_size=H, layout=1)
    graph = migrate.load(build([read], weights, inputs=("x", (4, T, F))))
    assert graph.batch_axes == {"x": 0}
