"""Branches and loops against the source's own engine, as emitted code, with gradients through what was taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

import migrate
from migrate.codegen import to_module
from migrate.errors import MigrateError
from migrate.frontends.onnx import load_onnx
from migrate.graph.passes import run_passes
from migrate.graph.text import print_graph

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
RNG = np.random.default_rng(0)
WEIGHTS = {name: RNG.standard_normal((4, 4)).astype("float32") for name in ("w", "left.weight", "right.weight")}


def info(name: str, kind: int, shape: list[Any] | None) -> onnx.ValueInfoProto:
    """The type of a value."""
    return helper.make_tensor_value_info(name, kind, shape)


def const(name: str, value: Any) -> onnx.NodeProto:
    """A constant."""
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value), name))


def graph(nodes: list[onnx.NodeProto], inputs: list[Any], outputs: list[Any], weights: tuple[str, ...] = ()) -> Any:
    """A graph, of a model or inside a node."""
    tensors = [numpy_helper.from_array(WEIGHTS[name], name) for name in weights]
    return helper.make_graph(nodes, "graph", inputs, outputs, tensors)


def model_of(made: onnx.GraphProto, opset: int = 17) -> onnx.ModelProto:
    """A model that both engines take."""
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def engine(model: onnx.ModelProto, inputs: list[Any]) -> list[Any]:
    """What ONNX Runtime computes."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {v.name: np.asarray(x) for v, x in zip(model.graph.input, inputs, strict=True)})


def agrees(model: onnx.ModelProto, *cases: list[Any]) -> torch.nn.Module:
    """The emitted module, which computes what the engine computes."""
    loaded = load_onnx(model)
    run_passes(loaded)
    module = to_module(loaded)
    for inputs in cases:
        wanted = engine(model, inputs)
        made = module(*(torch.from_numpy(np.array(v)) for v in inputs))
        for got, want in zip(made if isinstance(made, tuple) else (made,), wanted, strict=True):
            assert tuple(got.shape) == want.shape
            np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-5, atol=1e-5)
    return module


def x(*shape: int) -> Any:
    """Numbers from a normal distribution."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def branches(condition: list[onnx.NodeProto], flag: str) -> onnx.ModelProto:
    """Two layers of which one is taken; their weights are initializers of the branches."""
    yes = graph(
        [helper.make_node("MatMul", ["x", "left.weight"], ["a"])], [], [info("a", FLOAT, None)], ("left.weight",)
    )
    layers = [helper.make_node("MatMul", ["h", "right.weight"], ["m"]), helper.make_node("Relu", ["m"], ["c"])]
    no = graph(layers, [], [info("c", FLOAT, None)], ("right.weight",))
    taken = helper.make_node("If", [flag], ["y"], name="choose", then_branch=yes, else_branch=no)
    early = helper.make_node("Tanh", ["x"], ["h"])
    inputs = [info("x", FLOAT, ["batch", 4]), info("mode", INT, [])]
    return model_of(graph([*condition, early, taken], inputs, [info("y", FLOAT, ["batch", 4])]))


def test_a_branch_that_the_data_decides_is_an_if_with_layers_in_both_branches() -> None:
    model = branches([const("k", np.int64(7)), helper.make_node("Equal", ["mode", "k"], ["flag"])], "flag")
    module = agrees(model, [x(2, 4), np.int64(7)], [x(3, 4), np.int64(1)])
    assert sorted(name for name, _ in module.named_parameters()) == ["on_false.linear.weight", "on_true.linear.weight"]
    module(torch.from_numpy(x(2, 4)), torch.tensor(7)).sum().backward()
    taken, other = (module.get_parameter(f"{name}.linear.weight").grad for name in ("on_true", "on_false"))
    assert taken is not None and taken.abs().sum() > 0 and other is None


def test_weights_of_branches_are_parameters_under_their_own_names() -> None:
    model = branches([helper.make_node("Cast", ["mode"], ["flag"], to=BOOL)], "flag")
    weights = {v.weight.source: v.weight.role for v in migrate.load(model).weights() if v.weight}
    assert weights == {"left.weight": "parameter", "right.weight": "parameter"}


@pytest.mark.parametrize(("size", "op"), [(4, "linear"), (3, "relu")])
def test_a_condition_on_known_sizes_is_decided_while_the_model_is_read(size: int, op: str) -> None:
    condition = [
        helper.make_node("Shape", ["x"], ["shape"]),
        const("one", np.int64(1)),
        helper.make_node("Gather", ["shape", "one"], ["width"]),
        const("k", np.int64(size)),
        helper.make_node("Equal", ["width", "k"], ["flag"]),
    ]
    loaded = migrate.load(branches(condition, "flag"))
    assert [node.op.name for node in loaded.all_nodes][-1] == op
    assert not any(node.blocks for node in loaded.nodes)


def test_branches_of_different_shapes_are_refused_with_the_place() -> None:
    yes = graph([const("a", np.ones(2, "float32"))], [], [info("a", FLOAT, None)])
    no = graph([const("c", np.ones(3, "float32"))], [], [info("c", FLOAT, None)])
    nodes = [helper.make_node("If", ["flag"], ["t"], name="choose", then_branch=yes, else_branch=no)]
    nodes += [helper.make_node("ReduceSum", ["t"], ["s"]), helper.make_node("Add", ["x", "s"], ["y"])]
    made = graph(nodes, [info("x", FLOAT, ["batch", 4]), info("flag", BOOL, [])], [info("y", FLOAT, None)])
    with pytest.raises(MigrateError, match="the branches give") as caught:
        migrate.load(model_of(made))
    assert caught.value.diagnostics[0].where == "choose"


def loop(count: str, condition: str, body: onnx.GraphProto, before: list[onnx.NodeProto], outputs: list[Any]) -> Any:
    """A model with one loop that carries `x`."""
    node = helper.make_node("Loop", [count, condition, "x"], [v.name for v in outputs], name="repeat", body=body)
    inputs = [info("x", FLOAT, ["batch", 4]), info("n", INT, [])]
    return model_of(graph([*before, node], inputs, outputs, ("w",)))


def body(step: list[onnx.NodeProto], go: list[onnx.NodeProto], stacked: bool) -> onnx.GraphProto:
    """A body that makes `h2` of `h` and goes on while `go2`."""
    inputs = [info("i", INT, []), info("go", BOOL, []), info("h", FLOAT, None)]
    outputs = [info("go2", BOOL, None), info("h2", FLOAT, None), *([info("part", FLOAT, None)] if stacked else [])]
    last = [helper.make_node("Identity", ["h2"], ["part"])] if stacked else []
    return graph([*step, *go, *last], inputs, outputs)


LAYER = [helper.make_node("MatMul", ["h", "w"], ["m"]), helper.make_node("Tanh", ["m"], ["h2"])]
ALWAYS = [helper.make_node("Identity", ["go"], ["go2"])]
SMALL = [
    helper.make_node("ReduceSum", ["h2"], ["s"], keepdims=0),
    const("limit", np.float32(0.5)),
    helper.make_node("Less", ["s", "limit"], ["go2"]),
]


def test_a_loop_of_known_length_stacks_what_it_makes() -> None:
    model = loop(
        "k", "", body(LAYER, ALWAYS, True), [const("k", np.int64(3))], [info("y", FLOAT, None), info("a", FLOAT, None)]
    )
    model.graph.input.pop()
    module = agrees(model, [x(2, 4)], [x(5, 4)])
    module(torch.from_numpy(x(2, 4)))[0].sum().backward()
    weight = module.get_parameter("body.linear.weight")
    assert weight.grad is not None
    reference = torch.tensor(WEIGHTS["w"], requires_grad=True)
    h = torch.from_numpy(x(2, 4))
    for _ in range(3):
        h = torch.tanh(h @ reference)
    h.sum().backward()
    torch.testing.assert_close(weight.grad.T, reference.grad)


@pytest.mark.parametrize("count", ["n", ""])
def test_a_loop_that_the_data_ends(count: str) -> None:
    model = loop(count, "", body(LAYER, SMALL, False), [], [info("y", FLOAT, None)])
    if not count:
        model.graph.input.pop()
    cases = [[x(2, 4), np.int64(2)], [x(3, 4), np.int64(0)], [x(5, 4), np.int64(9)]]
    agrees(model, *([case[: 1 + bool(count)] for case in cases]))


def test_the_index_of_an_iteration_is_a_tensor() -> None:
    step = [helper.make_node("Cast", ["i"], ["f"], to=FLOAT), helper.make_node("Add", ["h", "f"], ["h2"])]
    model = loop("n", "", body(step, ALWAYS, False), [], [info("y", FLOAT, None)])
    agrees(model, [x(2, 4), np.int64(4)], [x(2, 4), np.int64(0)])


def test_a_loop_whose_number_of_parts_depends_on_the_data_is_refused() -> None:
    model = loop("n", "", body(LAYER, ALWAYS, True), [], [info("y", FLOAT, None), info("a", FLOAT, None)])
    with pytest.raises(MigrateError, match="depends on the data"):
        migrate.load(model)


def scan(**attributes: Any) -> onnx.ModelProto:
    """A cell over the second axis of `x`."""
    step = [
        helper.make_node("MatMul", ["h", "w"], ["m"]),
        helper.make_node("Add", ["m", "part"], ["s"]),
        helper.make_node("Tanh", ["s"], ["h2"]),
        helper.make_node("Identity", ["h2"], ["out"]),
    ]
    inputs = [info("h", FLOAT, [None, 4]), info("part", FLOAT, [None, 4])]
    inner = graph(step, inputs, [info("h2", FLOAT, None), info("out", FLOAT, None)])
    node = helper.make_node(
        "Scan", ["h0", "x"], ["last", "all"], body=inner, num_scan_inputs=1, scan_input_axes=[1], **attributes
    )
    inputs = [info("x", FLOAT, ["batch", "length", 4]), info("h0", FLOAT, ["batch", 4])]
    outputs = [info("last", FLOAT, None), info("all", FLOAT, None)]
    return model_of(graph([node], inputs, outputs, ("w",)))


@pytest.mark.parametrize(
    "attributes",
    [{}, {"scan_output_axes": [1]}, {"scan_input_directions": [1], "scan_output_directions": [1]}],
    ids=["plain", "axes", "backwards"],
)
def test_a_scan_is_a_loop_along_an_axis(attributes: dict[str, Any]) -> None:
    agrees(scan(**attributes), [x(2, 5, 4), x(2, 4)], [x(3, 1, 4), x(3, 4)])


def test_a_loop_in_a_branch_in_a_loop() -> None:
    step = [helper.make_node("Mul", ["q", "w0"], ["q2"]), helper.make_node("Identity", ["ok"], ["ok2"])]
    given = [info("j", INT, []), info("ok", BOOL, []), info("q", FLOAT, None)]
    inner = graph(step, given, [info("ok2", BOOL, None), info("q2", FLOAT, None)])
    nested = [const("two", np.int64(2)), helper.make_node("Loop", ["two", "", "h"], ["r"], body=inner)]
    yes = graph(nested, [], [info("r", FLOAT, None)])
    no = graph([helper.make_node("Neg", ["h"], ["g"])], [], [info("g", FLOAT, None)])
    test = [
        helper.make_node("ReduceSum", ["h"], ["total"], keepdims=0),
        const("zero", np.float32(0)),
        helper.make_node("Greater", ["total", "zero"], ["flag"]),
        helper.make_node("If", ["flag"], ["h2"], then_branch=yes, else_branch=no),
    ]
    weight = [const("w0", np.full(4, 1.1, "float32"))]
    model = loop("n", "", body(test, ALWAYS, False), weight, [info("y", FLOAT, None)])
    agrees(model, [x(2, 4), np.int64(3)], [-x(2, 4), np.int64(4)])


def test_every_unsupported_node_inside_is_listed() -> None:
    def strange(name: str) -> onnx.GraphProto:
        return graph([helper.make_node("NoSuch", ["x"], [name], name=name)], [], [info(name, FLOAT, None)])

    node = helper.make_node("If", ["flag"], ["y"], then_branch=strange("a"), else_branch=strange("c"))
    made = graph([node], [info("x", FLOAT, ["batch", 4]), info("flag", BOOL, [])], [info("y", FLOAT, None)])
    with pytest.raises(MigrateError) as caught:
        migrate.load(model_of(made))
    assert sorted(fault.where for fault in caught.value.diagnostics) == ["a", "c"]


def test_blocks_show_in_the_text_form() -> None:
    text = print_graph(migrate.load(scan()))
    assert "  block %index: int64[]," in text and "    yield " in text
