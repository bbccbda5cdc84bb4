"""Maps become tables, and labels of text become their places; what is read on stays as it was."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

import migrate
from migrate.errors import MigrateError
from migrate.frontends.onnx.oracle import OnnxOracle
from tests.migrate.frontends.onnx.ops.cases import x

ML = "ai.onnx.ml"
NAMES = ["cat", "dog", "owl"]
X = x(5, 4)


def built(
    nodes: list[onnx.NodeProto], outputs: list[onnx.ValueInfoProto], *weights: onnx.TensorProto
) -> onnx.ModelProto:
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])]
    graph = helper.make_graph(nodes, "g", given, outputs, weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def classifier(labels: dict[str, Any]) -> onnx.ModelProto:
    """As scikit-learn's models are written: a label, and a map from labels to probabilities."""
    form = {
        "coefficients": x(3, 4, seed=1).reshape(-1).tolist(),
        "intercepts": [0.1, 0.2, 0.3],
        "post_transform": "SOFTMAX",
    }
    mapped_by = {name.replace("_ints", "_int64s"): value for name, value in labels.items()}
    nodes = [
        helper.make_node("LinearClassifier", ["x"], ["raw", "scores"], domain=ML, **form, **labels),
        helper.make_node("Identity", ["raw"], ["label"]),
        helper.make_node("ZipMap", ["scores"], ["probabilities"], domain=ML, **mapped_by),
    ]
    kind, key = (TensorProto.STRING, 8) if "classlabels_strings" in labels else (TensorProto.INT64, 7)
    value = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    mapped = helper.make_sequence_type_proto(helper.make_map_type_proto(key, value))
    outputs = [helper.make_tensor_value_info("label", kind, ["N"]), helper.make_value_info("probabilities", mapped)]
    return built(nodes, outputs)


@pytest.mark.parametrize(
    "labels", [{"classlabels_ints": [4, 5, 9]}, {"classlabels_strings": NAMES}], ids=["ints", "text"]
)
def test_a_map_is_a_table_and_text_is_its_place(labels: dict[str, Any]) -> None:
    model = classifier(labels)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    label, maps = session.run(None, {"x": X})
    places, table = migrate.to_module(model)(torch.from_numpy(X))
    (names,) = labels.values()
    assert [names[i] for i in places.tolist()] == list(label) if "classlabels_strings" in labels else True
    np.testing.assert_allclose(table.detach().numpy(), [[row[name] for name in names] for row in maps], rtol=1e-6)
    codes = [note.code for note in migrate.load(model).notes]
    assert codes == ["MIG322"] + ["MIG323"] * ("classlabels_strings" in labels)


def test_the_engine_gives_numbers_too() -> None:
    model = classifier({"classlabels_strings": NAMES})
    places, table = OnnxOracle(model, migrate.load(model)).run([X])
    assert (places.dtype, table.dtype, table.shape) == (np.int64, np.float32, (5, 3))


def test_labels_that_are_picked_from_a_list_are_their_places() -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["scores"]),
        helper.make_node("ArgMax", ["scores"], ["best"], axis=1, keepdims=0),
        helper.make_node("ArrayFeatureExtractor", ["names", "best"], ["picked"], domain=ML),
        helper.make_node("Reshape", ["picked", "flat"], ["label"]),
    ]
    weights = [numpy_helper.from_array(x(4, 3, seed=1), "w"), numpy_helper.from_array(np.array([-1]), "flat")]
    names = helper.make_tensor("names", TensorProto.STRING, [3], [n.encode() for n in NAMES])
    outputs = [helper.make_tensor_value_info("label", TensorProto.STRING, ["N"]),
               helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", 3])]  # fmt: skip
    model = built(nodes, outputs, *weights, names)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    places = migrate.to_module(model)(torch.from_numpy(X))[0]
    assert [NAMES[i] for i in places.tolist()] == list(session.run(None, {"x": X})[0])


def test_text_that_the_model_reads_on_is_refused() -> None:
    model = classifier({"classlabels_strings": NAMES})
    more = helper.make_node("LabelEncoder", ["raw"], ["coded"], domain=ML, keys_strings=NAMES, values_int64s=[1, 2, 3])
    model.graph.node.append(more)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("coded", TensorProto.INT64, ["N"]))
    with pytest.raises(MigrateError, match="text"):
        migrate.load(model)
