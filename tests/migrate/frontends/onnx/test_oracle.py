from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from migrate.errors import Exit, MigrateError
from migrate.frontends.onnx import load_onnx
from migrate.frontends.onnx.oracle import OnnxOracle
from migrate.graph.chunks import input_axes, output_axes

RNG = np.random.default_rng(0)
W = RNG.standard_normal((4, 3)).astype("float32")
B = RNG.standard_normal(3).astype("float32")
X = RNG.standard_normal((5, 4)).astype("float32")


def model(nodes, inputs, outputs, initializers=(), opset=17, ir_version=8):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(a, n) for n, a in initializers])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)
    onnx.checker.check_model(made)
    return made


def tensor(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def linear(batch="batch", **kwargs):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="multiply"),
        helper.make_node("Add", ["h", "b"], ["s"], name="add"),
        helper.make_node("Softmax", ["s"], ["y"], name="softmax", axis=1),
    ]
    return model(nodes, [tensor("x", [batch, 4])], [tensor("y", [batch, 3])], [("w", W), ("b", B)], **kwargs)


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_runs_without_and_with_overrides():
    oracle = OnnxOracle(linear())
    np.testing.assert_allclose(oracle.run([X])[0], softmax(X @ W + B), rtol=1e-5)
    changed = {"w": 2 * W, "b": B - 1}
    np.testing.assert_allclose(oracle.run([X], changed)[0], softmax(2 * X @ W + B - 1), rtol=1e-5)
    np.testing.assert_allclose(oracle.run([X])[0], softmax(X @ W + B), rtol=1e-5)
    assert "onnxruntime" in oracle.engine and not oracle.notes


def test_replacing_the_same_weights_again_opens_no_engine(monkeypatch):
    from migrate.frontends.onnx import oracle as module

    opened = []
    before = module.open_engine
    monkeypatch.setattr(module, "open_engine", lambda *a, **k: opened.append(1) or before(*a, **k))
    oracle = OnnxOracle(linear())
    for scale in (1, 2, 3):
        oracle.run([X], {"w": scale * W})
    assert len(opened) == 1


def test_intermediates_and_logits():
    oracle = OnnxOracle(linear())
    name = oracle.logits_of(0)
    assert name == "s"
    found = oracle.intermediates([X], [name, "y", "h"], {"w": 2 * W})
    np.testing.assert_allclose(found["s"], 2 * X @ W + B, rtol=1e-5)
    np.testing.assert_allclose(found["h"], 2 * X @ W, rtol=1e-5)
    assert found["y"].shape == (5, 3)


def test_constant_nodes_are_weights():
    fill = helper.make_node("ConstantOfShape", ["shape"], ["b"], value=numpy_helper.from_array(B[:1], "v"))
    nodes = [
        helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(W, "w")),
        helper.make_node("Constant", [], ["shape"], value_ints=[3]),
        fill,
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Add", ["h", "b"], ["y"]),
    ]
    oracle = OnnxOracle(model(nodes, [tensor("x", ["n", 4])], [tensor("y", ["n", 3])]))
    np.testing.assert_allclose(oracle.run([X])[0], X @ W + B[0], rtol=1e-5)
    np.testing.assert_allclose(oracle.run([X], {"w": W + 1, "b": B})[0], X @ (W + 1) + B, rtol=1e-5)
    np.testing.assert_array_equal(oracle.weight("b"), np.full(3, B[0]))


@pytest.mark.parametrize("batch", [1, 2])
def test_a_fixed_batch_is_run_in_parts(batch):
    proto = linear(batch)
    graph = load_onnx(proto)
    oracle = OnnxOracle(proto, graph)
    assert input_axes(graph) == [0] and output_axes(graph) == [0]
    np.testing.assert_allclose(oracle.run([X])[0], softmax(X @ W + B), rtol=1e-5)
    np.testing.assert_allclose(oracle.run([X], {"w": -W})[0], softmax(-X @ W + B), rtol=1e-5)
    assert oracle.intermediates([X], ["h"])["h"].shape == (5, 3)


def test_a_batch_written_as_minus_one_is_free():
    proto = linear()
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = -1
    oracle = OnnxOracle(proto, load_onnx(proto))
    np.testing.assert_allclose(oracle.run([X])[0], softmax(X @ W + B), rtol=1e-5)


def test_a_batch_baked_into_a_reshape_is_run_sample_by_sample():
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["f"]), helper.make_node("MatMul", ["f", "w"], ["y"])]
    shape = ("shape", np.array([1, 4], dtype="int64"))
    proto = model(nodes, [tensor("x", ["n", 2, 2])], [tensor("y", ["n", 3])], [shape, ("w", W)])
    oracle = OnnxOracle(proto, load_onnx(proto))
    np.testing.assert_allclose(oracle.run([X.reshape(5, 2, 2)])[0], X @ W, rtol=1e-5)


def test_one_use_of_a_shared_vector_is_replaced():
    ones = np.ones(3, dtype="float32")
    nodes = [
        helper.make_node("Identity", ["g"], ["variance"]),
        helper.make_node("BatchNormalization", ["x", "g", "b", "b", "variance"], ["y"], name="bn", epsilon=1e-5),
    ]
    proto = model(nodes, [tensor("x", ["n", 3])], [tensor("y", ["n", 3])], [("g", ones), ("b", 0 * ones)])
    oracle = OnnxOracle(proto)
    (scale,) = oracle.uses("g", ["bn"], "batch_norm", 3)
    (variance,) = oracle.uses("g", ["bn"], "batch_norm", 2)
    assert (scale, variance) == (("bn", 1), ("bn", 4))
    x = X[:, :3]
    found = oracle.run([x], {scale: 2 * ones, variance: 4 * ones})[0]
    np.testing.assert_allclose(found, 2 * x / np.sqrt(4 + 1e-5), rtol=1e-5)
    assert oracle.settings() == {"bn": {"momentum": pytest.approx(0.1), "eps": pytest.approx(1e-5)}}


def test_a_half_precision_source_is_run_in_float32():
    half = TensorProto.FLOAT16
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Cast", ["h"], ["c"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["c"], ["d"], to=half),
        helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(B.astype("float16"), "k")),
        helper.make_node("Add", ["d", "k"], ["y"]),
    ]
    proto = model(nodes, [tensor("x", ["n", 4], half)], [tensor("y", ["n", 3], half)], [("w", W.astype("float16"))])
    oracle = OnnxOracle(proto)
    found = oracle.run([X])[0]
    assert found.dtype == np.float32
    wanted = X @ W.astype("float16").astype("float32") + B.astype("float16").astype("float32")
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_allclose(oracle.run([X], {"w": W})[0] - B.astype("float16"), X @ W, atol=1e-5)


def old_model():
    """Opset 6 with `broadcast` attributes and weights listed as inputs: ONNX Runtime has no kernel for it."""
    nodes = [
        helper.make_node("Mul", ["x", "g"], ["h"], broadcast=1, axis=1),
        helper.make_node("Add", ["h", "b"], ["y"], broadcast=1, axis=1),
    ]
    g = RNG.standard_normal(4).astype("float32")
    inputs = [tensor("x", [2, 4]), tensor("g", [4]), tensor("b", [4])]
    made = model(nodes, inputs, [tensor("y", [2, 4])], [("g", g), ("b", g + 1)], opset=6, ir_version=3)
    return made, g


def test_an_old_model_is_run_by_the_reference_evaluator():
    proto, g = old_model()
    oracle = OnnxOracle(proto)
    assert oracle.input_names == ["x"]
    np.testing.assert_allclose(oracle.run([X[:2]])[0], X[:2] * g + g + 1, rtol=1e-5)
    np.testing.assert_allclose(oracle.run([X[:2]], {"b": 0 * g})[0], X[:2] * g, rtol=1e-5)
    assert "onnx.reference" in oracle.engine
    (note,) = oracle.notes
    assert note.code == "MIG508" and note.severity == "note" and "ONNX Runtime" in note.why


def test_weights_listed_as_inputs_can_be_replaced():
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    inputs = [tensor("x", ["n", 4]), tensor("w", [4, 3])]
    oracle = OnnxOracle(model(nodes, inputs, [tensor("y", ["n", 3])], [("w", W)], opset=8, ir_version=3))
    np.testing.assert_allclose(oracle.run([X], {"w": 3 * W})[0], 3 * X @ W, rtol=1e-5)
    np.testing.assert_allclose(oracle.run([X])[0], X @ W, rtol=1e-5)


def test_external_data_is_found_and_replaced(tmp_path: Path):
    path = tmp_path / "m.onnx"
    onnx.save(linear(), path, save_as_external_data=True, location="m.bin", size_threshold=0)
    assert (tmp_path / "m.bin").stat().st_size >= W.nbytes
    oracle = OnnxOracle(path)
    np.testing.assert_allclose(oracle.run([X])[0], softmax(X @ W + B), rtol=1e-5)
    np.testing.assert_allclose(oracle.run([X], {"b": 0 * B})[0], softmax(X @ W), rtol=1e-5)
    np.testing.assert_allclose(oracle.intermediates([X], ["h"])["h"], X @ W, rtol=1e-5)


def test_a_weight_inside_a_branch_is_replaced():
    def branch(name, weight):
        nodes = [
            helper.make_node("Constant", [], [f"{name}_w"], value=numpy_helper.from_array(weight, "w")),
            helper.make_node("MatMul", ["x", f"{name}_w"], [f"{name}_y"]),
        ]
        return helper.make_graph(nodes, name, [], [tensor(f"{name}_y", ["n", 3])])

    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("a", W), else_branch=branch("b", -W))
    inputs = [tensor("x", ["n", 4]), tensor("c", [], TensorProto.BOOL)]
    oracle = OnnxOracle(model([node], inputs, [tensor("y", ["n", 3])]))
    found = [oracle.run([X, np.array(c)], {"a_w": 5 * W})[0] for c in (True, False)]
    np.testing.assert_allclose(found[0], 5 * X @ W, rtol=1e-5)
    np.testing.assert_allclose(found[1], -X @ W, rtol=1e-5)


@pytest.mark.parametrize(
    ("inputs", "overrides", "code"),
    [
        ([X[:, :2]], {}, "MIG503"),
        ([X], {"none": B}, "MIG504"),
        ([X], {"h": B}, "MIG504"),
        ([X], {("add", 7): B}, "MIG504"),
    ],
)
def test_faults_are_diagnostics(inputs, overrides, code):
    with pytest.raises(MigrateError) as caught:
        OnnxOracle(linear()).run(inputs, overrides)
    assert caught.value.status is Exit.PARITY
    assert caught.value.diagnostics[0].code == code


def test_a_model_that_no_engine_runs_is_a_diagnostic():
    nodes = [helper.make_node("NoSuchOperator", ["x"], ["y"], domain="nowhere")]
    graph = helper.make_graph(nodes, "g", [tensor("x", [1])], [tensor("y", [1])])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("nowhere", 1)]
    with pytest.raises(MigrateError) as caught:
        OnnxOracle(helper.make_model(graph, opset_imports=imports, ir_version=8)).run([X[0, :1]])
    (found,) = caught.value.diagnostics
    assert found.code == "MIG502" and "ONNX Runtime" in found.why and "onnx.reference" in found.why


def test_learned_weights_are_found_through_cuts_and_turns():
    half = ("half", np.array([2], dtype="int64"))
    nodes = [
        helper.make_node("Slice", ["w", "zero", "half"], ["upper"]),
        helper.make_node("Slice", ["w", "half", "four"], ["lower"]),
        helper.make_node("Concat", ["lower", "upper"], ["whole"], axis=0),
        helper.make_node("MatMul", ["x", "whole"], ["h"]),
        helper.make_node("Mul", ["b", "h"], ["scaled"]),
        helper.make_node("MatMul", ["scaled", "turned"], ["y"]),
        helper.make_node("Transpose", ["v"], ["turned"], perm=[1, 0]),
    ]
    nodes = [*nodes[:5], nodes[6], nodes[5]]
    numbers = [half, ("zero", np.array([0], dtype="int64")), ("four", np.array([4], dtype="int64"))]
    weights = [("w", W), ("b", B), ("v", W)]
    oracle = OnnxOracle(model(nodes, [tensor("x", ["n", 4])], [tensor("y", ["n", 4])], [*numbers, *weights]))
    assert oracle.learned_weights() == ["w", "v"]
