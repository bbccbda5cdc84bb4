"""What cannot be imported is refused at its node, all of it at once."""

from __future__ import annotations

from typing import Any

import onnx
import pytest

import migrate
from migrate.errors import Exit, MigrateError
from tests.migrate.frontends.onnx.built import (
    IMAGE,
    NORM,
    ints,
    normalised,
    product,
)
from tests.onnx_files import (
    build,
    node,
    weight,
)


def refusal(model: onnx.ModelProto) -> MigrateError:
    with pytest.raises(MigrateError) as caught:
        migrate.load(model)
    return caught.value


def test_every_unsupported_node_is_listed_at_once() -> None:
    nodes = [
        node("Mystery", ["h"], ["a"], name="first"),
        node("Fancy", ["a"], ["b"], name="second", domain="com.vendor"),
        node("Relu", ["b"], ["c"], name="third", colour=3),
        node("MatMul", ["c"], ["y"], name="fourth"),
        node("Relu", ["c", "c"], ["z"], name="fifth"),
    ]
    model = build([node("MatMul", ["x", "W"], ["h"]), *nodes], {"W": weight(8, 6)}, extra_opsets=["com.vendor"])
    fault = refusal(model)
    assert fault.status == Exit.UNSUPPORTED
    found = [(d.code, d.where) for d in fault.diagnostics]
    assert found == [("MIG201", "first"), ("MIG201", "second"), *(("MIG202", n) for n in ("third", "fourth", "fifth"))]
    assert "com.vendor::Fancy" in str(fault) and "colour" in str(fault) and "lacks B" in str(fault)


@pytest.mark.parametrize(
    ("model", "code", "where"),
    [
        (lambda: product(node("Add", ["h", "c"], ["y"]), c=weight(4, 6)), "MIG304", "Add_y"),
        (lambda: product(node("Reshape", ["h", "t"], ["y"]), t=ints(5, 7)), "MIG304", "Reshape_y"),
        (lambda: product(node("MatMul", ["h", "V"], ["y"]), V=weight(5, 2)), "MIG304", "MatMul_y"),
        (lambda: product(node("NonZero", ["h"], ["y"])), "MIG203", "NonZero_y"),
        (lambda: build([node("Relu", ["W"], ["y"])], {"W": weight(3, 3)}), "MIG302", "y"),
    ],
)
def test_what_cannot_follow_is_refused_at_its_node(model: Any, code: str, where: str) -> None:
    fault = refusal(model())
    assert fault.status == Exit.UNSUPPORTED
    assert [(d.code, d.where) for d in fault.diagnostics] == [(code, where)]


def test_statistics_as_outputs_are_refused() -> None:
    nodes = list(normalised(["y", "mean", "var"], training_mode=1).graph.node)
    model = build(nodes, {"C": weight(4, 3, 3, 3), **NORM}, inputs=IMAGE, outputs=("y", "mean"), opset=15)
    assert [(d.code, d.where) for d in refusal(model).diagnostics] == [("MIG203", "bn")]


def test_nothing_to_train() -> None:
    fault = refusal(build([node("Relu", ["x"], ["y"])], {}))
    assert (fault.status, fault.diagnostics[0].code) == (Exit.UNSUPPORTED, "MIG313")
