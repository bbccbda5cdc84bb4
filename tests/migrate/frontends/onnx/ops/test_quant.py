"""Quantised operators against ONNX Runtime, their weights as float parameters, and gradients through rounding."""

from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
import pytest
import torch
from onnx import TensorProto, helper

import migrate
from migrate.frontends.onnx import load_onnx, open_onnx
from migrate.frontends.onnx.lift import opened
from migrate.frontends.onnx.oracle import OnnxOracle
from migrate.graph import interpret
from migrate.options import Options
from tests.migrate.frontends.onnx.ops.cases import Case, check, expected, f32, feeds_of, graph_of, model_of, x

ROWS = x(3, 8)
CODES = np.random.default_rng(0).integers(0, 256, (3, 8)).astype(np.uint8)
IMAGE = np.random.default_rng(1).integers(0, 256, (2, 3, 6, 7)).astype(np.uint8)
KERNEL = np.random.default_rng(2).integers(-128, 128, (4, 3, 3, 3)).astype(np.int8)
S, Z = np.float32(0.02), np.uint8(120)
SCALES, ZEROS = f32(0.01, 0.02, 0.03), np.array([0, 100, 200], dtype=np.uint8)
BIAS = np.random.default_rng(3).integers(-500, 500, 4).astype(np.int32)


def case(op: str, *inputs: Any, constants: tuple[int, ...] = (), note: str = "", **more: Any) -> Case:
    return Case(op=op, inputs=inputs, constants=constants, note=note, **{"opset": 21, "gradient": False, **more})


CASES = [
    case("QuantizeLinear", ROWS, S, Z, constants=(1, 2)),
    case("QuantizeLinear", ROWS, S, np.int8(3), note="signed, a computed scale"),
    case("QuantizeLinear", ROWS, SCALES, ZEROS, constants=(1, 2), attributes={"axis": 0}),
    case("QuantizeLinear", ROWS, np.abs(x(3, 3)) + 0.1, constants=(1,), attributes={"axis": 1, "block_size": 3}, note="blocks",
         engine="reference"),
    case("QuantizeLinear", ROWS, S, attributes={"output_dtype": TensorProto.UINT16}, constants=(1,), engine="carried"),
    case("DequantizeLinear", CODES, S, Z, constants=(1, 2)),
    case("DequantizeLinear", CODES, SCALES, ZEROS, constants=(1, 2), attributes={"axis": 0}),
    case("DequantizeLinear", CODES, SCALES, ZEROS, note="all computed", attributes={"axis": 0}),
    case("DequantizeLinear", IMAGE.astype(np.int32), S, constants=(1,), note="32 bits"),
    case("DynamicQuantizeLinear", ROWS, num_outputs=3),
    case("DynamicQuantizeLinear", np.abs(ROWS), num_outputs=3, note="positive"),
    case("QLinearConv", IMAGE, S, Z, KERNEL, f32(0.01, 0.02, 0.03, 0.005), np.zeros(4, np.int8), np.float32(0.4), np.uint8(90),
         BIAS, constants=tuple(range(1, 9)), attributes={"pads": [1, 1, 1, 1], "strides": [2, 1]}, opset=17),
    case("QLinearConv", IMAGE, S, Z, KERNEL, np.float32(0.01), np.int8(0), np.float32(0.4), np.uint8(90),
         constants=(1, 2, 4, 5, 6, 7), opset=17, note="a computed weight"),
    case("QLinearMatMul", CODES, S, Z, CODES.T.copy(), np.float32(0.01), np.uint8(7), np.float32(0.1), np.uint8(100),
         constants=tuple(range(1, 8)), opset=17),
    case("MatMulInteger", CODES, CODES.T.copy(), Z, np.uint8(3), constants=(1, 2, 3), opset=17),
    case("MatMulInteger", CODES, CODES.T.copy(), opset=17, note="computed"),
    case("ConvInteger", IMAGE, KERNEL.astype(np.uint8), Z, constants=(1, 2), attributes={"pads": [1, 0, 0, 1]}, opset=17),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers(case: Case) -> None:
    if case.engine == "carried":
        wanted = expected(case, model_of(case))
        made = interpret(graph_of(case), *(torch.from_numpy(v.copy()) for v in feeds_of(case).values()))
        assert [m.tolist() for m in made] == [w.tolist() for w in wanted]
    else:
        check(case)


def quantised() -> onnx.ModelProto:
    """Two layers as a static quantiser writes them: weights and activations in 8 bits, between float inputs and outputs."""
    rng = np.random.default_rng(0)
    stored = {
        "w1": rng.integers(-127, 128, (8, 6)).astype(np.int8), "w2": rng.integers(-127, 128, (6, 3)).astype(np.int8),
        "s": np.float32(0.03), "sw": np.float32(0.01), "z": np.uint8(128), "zw": np.int8(0),
    }  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "s", "z"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w1", "sw", "zw"], ["w1d"]),
        helper.make_node("MatMul", ["xd", "w1d"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "s", "z"], ["rq"]),
        helper.make_node("DequantizeLinear", ["rq", "s", "z"], ["rd"]),
        helper.make_node("DequantizeLinear", ["w2", "sw", "zw"], ["w2d"]),
        helper.make_node("MatMul", ["rd", "w2d"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])]
    weights = [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in stored.items()]
    graph = helper.make_graph(nodes, "quantised", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_quantised_model_trains_in_floats() -> None:
    module = migrate.to_module(quantised())
    parameters = dict(module.named_parameters())
    assert sorted(tuple(p.shape) for p in parameters.values()) == [(3, 6), (6, 8)]
    assert all(p.dtype == torch.float32 for p in parameters.values())
    torch.manual_seed(0)
    inputs = torch.randn(4, 8, requires_grad=True)
    module(inputs).square().sum().backward()
    assert inputs.grad is not None
    assert inputs.grad.abs().sum() > 0
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in parameters.values())


def test_a_quantised_model_says_what_is_trained() -> None:
    notes = [note for note in load_onnx(quantised()).notes if note.code == "MIG316"]
    assert len(notes) == 1


STORED = ("DequantizeLinear", "QLinearConv", "QLinearMatMul", "MatMulInteger", "ConvInteger")
FAKE = [c for c in CASES if c.constants and c.op in STORED]


@pytest.mark.parametrize("case", FAKE, ids=lambda c: c.id)
def test_weights_that_are_rounded_to_their_steps_compute_the_same(case: Case) -> None:
    """What is stored is on the steps, so nothing changes until it is trained."""
    feeds = feeds_of(case)
    graph = load_onnx(model_of(case), input_shapes={name: v.shape for name, v in feeds.items()}, fake=True)
    made = interpret(graph, *(torch.from_numpy(v.copy()) for v in feeds.values()))
    for got, want in zip(made, expected(case, model_of(case)), strict=True):
        np.testing.assert_allclose(got.detach().numpy().astype("float32"), want.astype("float32"), rtol=1e-5, atol=1e-5)


def test_rounded_weights_stay_on_the_steps_of_the_source_and_train() -> None:
    module = migrate.to_module(quantised(), options=Options(quantized="fake"))
    given = torch.from_numpy(x(4, 8))
    before = module(given)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.004)  # less than half a step of 0.01
    torch.testing.assert_close(module(given), before)
    before.square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in module.parameters())


def test_the_engine_rounds_other_weights_as_the_package_does() -> None:
    model = quantised()
    graph = migrate.load(model, Options(quantized="fake"))
    sources = {v.weight.source: v.weight for v in graph.weights() if v.weight is not None and v.weight.grid is not None}
    assert sorted(sources) == ["w1d", "w2d"]
    others = {name: weight.read() + np.float32(0.004) for name, weight in sources.items()}
    oracle = OnnxOracle(model, graph)
    np.testing.assert_allclose(oracle.run([x(4, 8)], others)[0], oracle.run([x(4, 8)])[0], rtol=1e-6, atol=1e-6)


def test_outputs_of_a_quantised_model_are_the_sources() -> None:
    import onnxruntime

    model = quantised()
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    given = x(5, 8)
    (wanted,) = session.run(None, {"x": given})
    made = migrate.to_module(model).eval()(torch.from_numpy(given))
    np.testing.assert_allclose(made.detach().numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_an_axis_that_the_input_lacks_is_refused() -> None:
    wrong = case("DequantizeLinear", CODES, SCALES, ZEROS, attributes={"axis": 2})
    with pytest.raises(migrate.MigrateError, match="out of range"):
        graph_of(wrong)


def test_the_engine_takes_other_values_for_a_quantised_weight() -> None:
    opened_model = opened(open_onnx(quantised()), {"w1d"})
    assert [v.name for v in opened_model.graph.inputs] == ["x", "w1d"]
    assert opened_model.graph.inputs[1].shape == (8, 6)


def test_gradients_pass_where_integers_are_moved() -> None:
    """As a quantiser writes it around a Flatten: integers go in, integers come out."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("Flatten", ["q"], ["f"]),
        helper.make_node("Concat", ["f", "f"], ["c"], axis=1),
        helper.make_node("DequantizeLinear", ["c", "s", "z"], ["y"]),
    ]
    stored = [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in {"s": S, "z": Z}.items()]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4])]
    graph = helper.make_graph(nodes, "g", given, [helper.make_empty_tensor_value_info("y")], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    inputs = torch.randn(2, 3, 4, requires_grad=True)
    (made,) = interpret(load_onnx(model, input_shapes={"x": (2, 3, 4)}), inputs)
    made.sum().backward()
    assert inputs.grad is not None
    torch.testing.assert_close(inputs.grad, torch.full((2, 3, 4), 2.0))
