"""An operator that is refused for good says why, and none of them has a handler."""

import pytest
from onnx import TensorProto, helper

from migrate.errors import MigrateError
from migrate.frontends.onnx import load_onnx
from migrate.frontends.onnx.refusals import REASONS
from migrate.frontends.onnx.registry import find


@pytest.mark.parametrize("name", REASONS)
def test_what_is_refused_has_no_handler(name: str) -> None:
    domain, _, op = name.rpartition("::")
    assert find(op, domain, 99) is None


@pytest.mark.parametrize(
    ("op", "domain", "why"),
    [("Unique", "", "depends on the data"), ("TreeEnsemble", "ai.onnx.ml", "not differentiable")],
)
def test_the_reason_is_told(op: str, domain: str, why: str) -> None:
    node = helper.make_node(op, ["x"], ["y"], domain=domain)
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])]
    graph = helper.make_graph([node], "g", given, [helper.make_empty_tensor_value_info("y")])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 5)]
    with pytest.raises(MigrateError, match=why):
        load_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=10))
