"""Who is at fault where a node is not what its handler expects: the file, if ONNX itself says so."""

from __future__ import annotations

import onnx
import onnx_ir as ir
import pytest

import migrate
from migrate.errors import Exit, MigrateError
from migrate.frontends.onnx import importer
from migrate.frontends.onnx.invalid import invalid
from tests.onnx_files import build, mlp, node, weight


def unequal_branches() -> onnx.ModelProto:
    """One branch gives a value more than the other."""
    outputs = [["p"], ["q", "r"]]
    bodies = [
        onnx.helper.make_graph(
            [node("Relu", ["x"], [name]) for name in names],
            "branch",
            [],
            [onnx.helper.make_tensor_value_info(name, 1, None) for name in names],
        )
        for names in outputs
    ]
    nodes = [
        node("ReduceSum", ["x"], ["s"], keepdims=0),
        node("Cast", ["s"], ["c"], to=9),
        node("If", ["c"], ["h"], then_branch=bodies[0], else_branch=bodies[1]),
        node("MatMul", ["h", "W"], ["y"]),
    ]
    return build(nodes, {"W": weight(8, 3)})


def test_a_valid_model_has_no_fault() -> None:
    assert invalid(ir.from_proto(mlp())) == ""


def test_what_onnx_refuses_is_refused_with_its_words() -> None:
    with pytest.raises(MigrateError) as caught:
        migrate.load(unequal_branches())
    (found,) = caught.value.diagnostics
    assert (caught.value.status, found.code, found.where) == (
        Exit.INPUT,
        "MIG102",
        "If_h",
    ) and "TypeInferenceError" in found.why


def test_a_fault_of_ours_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, node: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(importer.Importer, "node", broken)
    with pytest.raises(ZeroDivisionError):
        migrate.load(mlp())
