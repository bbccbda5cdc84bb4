from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from migrate.frontends.onnx import load_onnx
from migrate.frontends.onnx.oracle import OnnxOracle
from migrate.graph import Step, Value, Weight, interpret
from migrate.graph.passes import default_passes, run_passes
from migrate.graph.weights import rearrange
from migrate.verify.overrides import Writer, conflicts, perturbable, perturbed_overrides, restore
from runtime.verify.perturb import kind_of, perturbed

RNG = np.random.default_rng(0)


@dataclass
class Entry:
    key: str
    value: Value
    weight: Weight
    shape: tuple[int, ...]
    dtype: str = "float32"
    tied_to: str | None = None


@dataclass
class Entries:
    tensors: list[Entry]


def entry(value, key=None):
    return Entry(key or value.name, value, value.weight, value.shape, value.dtype)


def model(nodes, inputs, outputs, **arrays):
    infos = [[helper.make_tensor_value_info(n, t, s) for n, t, s in group] for group in (inputs, outputs)]
    tensors = [numpy_helper.from_array(a, n) for n, a in arrays.items()]
    graph = helper.make_graph(nodes, "g", *infos, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def loaded(proto, inferred=False):
    graph = load_onnx(proto)
    run_passes(graph, default_passes(inferred=inferred))
    return graph, OnnxOracle(proto, graph)


def perturb_graph(plan, seed, sigma):
    """What the package does to its own state, done to the graph's weights."""
    for item, kind in perturbable(plan):
        plain = torch.from_numpy(np.array(item.weight.array()))
        array = perturbed(item.key, plain, seed, sigma, kind).numpy()
        item.value.weight = replace(item.value.weight, read=lambda array=array: array, steps=())


@st.composite
def rearrangements(draw):
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    steps, now = [], shape
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            order = tuple(draw(st.permutations(range(len(now)))))
            steps.append(Step("permute", order))
            now = tuple(now[axis] for axis in order)
        else:
            size = int(np.prod(now))
            first = draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0]))
            steps.append(Step("reshape", (first, draw(st.sampled_from([-1, size // first])))))
            now = (first, size // first)
    return shape, tuple(steps)


@settings(max_examples=100, deadline=None)
@given(rearrangements())
def test_restore_undoes_a_rearrangement(case):
    shape, steps = case
    source = np.arange(int(np.prod(shape))).reshape(shape)
    np.testing.assert_array_equal(restore(rearrange(source, steps), shape, steps), source)


def test_restore_leaves_cuts_to_scatter():
    assert restore(np.zeros((1, 3)), (2, 3), (Step("slice", (0, 0, 1)),)) is None


def test_slices_of_one_source_are_written_into_one_override():
    proto = model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [("x", TensorProto.FLOAT, ["n", 4])],
        [("y", TensorProto.FLOAT, ["n", 6])],
        w=RNG.standard_normal((4, 6)).astype("float32"),
    )
    graph, oracle = loaded(proto)
    (value,) = graph.weights()
    whole = replace(value.weight, steps=())
    halves = [replace(whole, steps=(Step("slice", (1, a, a + 3)), Step("permute", (1, 0)))) for a in (0, 3)]
    entries = [Entry(f"part{i}", value, half, (3, 4)) for i, half in enumerate(halves)]
    assert not conflicts(Entries(entries))
    writer = Writer(plan=Entries(entries), graph=graph, oracle=oracle)
    found = writer.write_all({"part0": np.full((3, 4), 1.0), "part1": np.full((3, 4), 2.0)})
    np.testing.assert_array_equal(found["w"], np.repeat([[1.0, 1, 1, 2, 2, 2]], 4, axis=0))


def test_two_parameters_of_one_source_tensor_are_a_conflict():
    value = Value("w", "float32", (2, 3))
    weight = Weight(source="w", read=lambda: np.zeros((2, 3), "float32"), source_shape=(2, 3), role="parameter")
    turned = weight.then(Step("permute", (1, 0)))
    plan = Entries([Entry("a", value, weight, (2, 3)), Entry("b", value, turned, (3, 2))])
    assert conflicts(plan) == ["a", "b"]
    plan.tensors[1].tied_to = "a"
    assert conflicts(plan) == []


@pytest.mark.parametrize("sigma", [0.01, 0.05])
def test_linear_and_batch_norm_agree_when_perturbed(sigma):
    """One vector of ones is stored for the scale and the variance: each is perturbed on its own."""
    proto = model(
        [
            helper.make_node("Gemm", ["x", "w", "b"], ["h"], name="gemm"),
            helper.make_node("Identity", ["ones"], ["variance"]),
            helper.make_node("BatchNormalization", ["h", "ones", "b", "mean", "variance"], ["y"], name="bn"),
        ],
        [("x", TensorProto.FLOAT, ["n", 4])],
        [("y", TensorProto.FLOAT, ["n", 3])],
        w=RNG.standard_normal((4, 3)).astype("float32"),
        b=RNG.standard_normal(3).astype("float32"),
        ones=np.ones(3, "float32"),
        mean=RNG.standard_normal(3).astype("float32"),
    )
    graph, oracle = loaded(proto)
    kinds = {"running_mean": "bn.running_mean", "running_var": "bn.running_var"}
    plan = Entries([entry(v, kinds.get(v.weight.kind)) for v in graph.weights()])
    x = RNG.standard_normal((5, 4)).astype("float32")
    overrides = perturbed_overrides(plan, graph, oracle, 3, sigma)
    assert ("bn", 1) in overrides and ("bn", 4) in overrides
    assert not np.array_equal(overrides["bn", 1], overrides["bn", 4])
    wanted = oracle.run([x], overrides)[0]
    perturb_graph(plan, 3, sigma)
    found = interpret(graph, torch.from_numpy(x))[0].numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert np.abs(wanted - oracle.run([x])[0]).max() > sigma / 10


@pytest.mark.parametrize("sigma", [0.01, 0.05])
def test_guessed_statistics_are_folded_into_the_sources_scale_and_shift(sigma):
    proto = model(
        [
            helper.make_node("Conv", ["x", "w"], ["h"], name="conv"),
            helper.make_node("Mul", ["h", "scale"], ["g"], name="mul"),
            helper.make_node("Add", ["g", "shift"], ["y"], name="add"),
        ],
        [("x", TensorProto.FLOAT, ["n", 2, 4, 4])],
        [("y", TensorProto.FLOAT, ["n", 3, 2, 2])],
        w=RNG.standard_normal((3, 2, 3, 3)).astype("float32"),
        scale=RNG.standard_normal((3, 1, 1)).astype("float32"),
        shift=RNG.standard_normal((1, 3, 1, 1)).astype("float32"),
    )
    graph, oracle = loaded(proto, inferred=True)
    assert "batch_norm" in [node.op.name for node in graph.nodes]
    kinds = {"running_mean": "bn.running_mean", "running_var": "bn.running_var"}
    plan = Entries([entry(v, kinds.get(v.weight.kind)) for v in graph.weights()])
    assert conflicts(plan) == []
    x = RNG.standard_normal((5, 2, 4, 4)).astype("float32")
    overrides = perturbed_overrides(plan, graph, oracle, 3, sigma)
    assert set(overrides) == {"w", "scale", "shift"}
    wanted = oracle.run([x], overrides)[0]
    perturb_graph(plan, 3, sigma)
    statistics = {v.weight.kind: v.weight.array() for v in graph.weights() if v.weight.kind}
    assert np.abs(statistics["running_var"] - 1).max() > sigma / 10
    found = interpret(graph, torch.from_numpy(x))[0].detach().numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_tied_weight_that_the_source_stores_twice_is_written_twice():
    table = RNG.standard_normal((10, 4)).astype("float32")
    proto = model(
        [
            helper.make_node("Gather", ["table", "x"], ["e"], name="gather"),
            helper.make_node("MatMul", ["e", "head"], ["y"], name="matmul"),
        ],
        [("x", TensorProto.INT64, ["n", 5])],
        [("y", TensorProto.FLOAT, ["n", 5, 10])],
        table=table,
        head=np.ascontiguousarray(table.T),
    )
    graph, oracle = loaded(proto)
    plan = Entries([entry(v) for v in graph.weights()])
    assert len(plan.tensors) == 1
    overrides = perturbed_overrides(plan, graph, oracle, 0, 0.05)
    assert overrides.keys() == {"table", "head"}
    np.testing.assert_array_equal(overrides["head"], overrides["table"].T)


def test_running_statistics_are_perturbed_and_other_buffers_are_not():
    assert kind_of("bn.running_var") == "positive"
    weight = Weight(source="w", read=lambda: np.zeros(2, "float32"), source_shape=(2,), role="buffer")
    value = Value("w", "float32", (2,))
    names = ["bn.running_var", "bn.running_mean", "mask"]
    plan = Entries([Entry(name, value, replace(weight, source=name), (2,)) for name in names])
    assert [(e.key, kind) for e, kind in perturbable(plan)] == [(names[0], "positive"), (names[1], "additive")]
