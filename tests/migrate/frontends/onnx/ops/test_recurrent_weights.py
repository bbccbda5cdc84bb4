"""Weights of a recurrent layer that exporters cut, join and turn before the layer are the stored ones again."""

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

import migrate
from tests.migrate.frontends.onnx.ops.cases import ints, x
from tests.migrate.frontends.onnx.ops.test_recurrent import F, H, N, T


def through_nodes(kernel: str) -> onnx.ModelProto:
    """An LSTM over torch's own tensors, put into ONNX's order by nodes, as exporters write it where they fold nothing.

    `kernel`: `rows` as torch stores it, `columns` as Keras does.
    """
    names = {"w": (4 * H, F) if kernel == "rows" else (F, 4 * H), "r": (4 * H, H), "bi": (4 * H,), "bh": (4 * H,)}
    stored = {name: x(*shape, seed=i) * 0.5 for i, (name, shape) in enumerate(names.items())}
    nodes: list[onnx.NodeProto] = []
    constants = {f"at{i}": ints(i * H) for i in range(5)} | {"zero": ints(0), "one": ints(1)}
    for name in names:
        axis = "one" if (name, kernel) == ("w", "columns") else "zero"
        for gate in range(4):
            nodes.append(helper.make_node("Slice", [name, f"at{gate}", f"at{gate + 1}", axis], [f"{name}{gate}"]))
        order = [f"{name}{gate}" for gate in (0, 3, 1, 2)]
        nodes.append(helper.make_node("Concat", order, [f"{name}_c"], axis=int(axis == "one")))
    if kernel == "columns":
        nodes.append(helper.make_node("Transpose", ["w_c"], ["w_t"], perm=[1, 0]))
    nodes.append(helper.make_node("Concat", ["bi_c", "bh_c"], ["b_c"], axis=0))
    last = {"W": "w_t" if kernel == "columns" else "w_c", "R": "r_c", "B": "b_c"}
    nodes += [helper.make_node("Unsqueeze", [given, "zero"], [made]) for made, given in last.items()]
    nodes.append(helper.make_node("LSTM", ["x", "W", "R", "B"], ["y", "h", "c"], hidden_size=H))
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [T, "N", F])]
    outputs = [helper.make_empty_tensor_value_info(name) for name in ("y", "h", "c")]
    weights = [numpy_helper.from_array(v, k) for k, v in (stored | constants).items()]
    graph = helper.make_graph(nodes, "g", given, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("kernel", ["rows", "columns"])
def test_weights_that_come_through_nodes_are_those_of_a_layer(kernel: str) -> None:
    import onnxruntime

    model = through_nodes(kernel)
    module = migrate.to_module(model)
    (layer,) = [m for m in module.modules() if isinstance(m, torch.nn.LSTM)]
    assert len(list(module.parameters())) == 4
    stored = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    kept = stored["w"] if kernel == "rows" else stored["w"].T
    np.testing.assert_array_equal(layer.weight_ih_l0.detach().numpy(), kept)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for got, want in zip(module(torch.from_numpy(x(T, N, F))), session.run(None, {"x": x(T, N, F)}), strict=True):
        np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-5, atol=1e-5)
