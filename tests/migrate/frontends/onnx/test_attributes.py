"""An attribute of another kind than its schema's makes a file invalid; one that no schema knows is another's affair."""

from __future__ import annotations

import onnx
import pytest

import migrate
from migrate.errors import Exit, MigrateError
from tests.onnx_files import build, node, weight


@pytest.mark.parametrize(
    ("operator", "attributes", "words"),
    [
        ("Gather", {"axis": "0"}, "'axis' of 'Gather_y' is of the kind STRING and not INT"),
        ("Gather", {"axis": 1.0}, "is of the kind FLOAT and not INT"),
        ("Transpose", {"perm": 1}, "is of the kind INT and not INTS"),
        ("Constant", {"value": 1}, "is of the kind INT and not TENSOR"),
    ],
)
def test_the_kind_of_an_attribute_is_the_schema_s(operator: str, attributes: dict[str, object], words: str) -> None:
    operands = {"Gather": ["W", "x"], "Transpose": ["x"], "Constant": []}[operator]
    model = build([node(operator, operands, ["y"], **attributes)], {"W": weight(3, 4)})
    with pytest.raises(MigrateError) as caught:
        migrate.load(model)
    assert caught.value.status == Exit.INPUT
    assert caught.value.diagnostics[0].code == "MIG102" and words in caught.value.diagnostics[0].why


def test_attributes_of_other_domains_and_of_text_that_is_none_are_left_alone() -> None:
    model = build([node("Relu", ["x"], ["y"], domain="com.else", axis="0")], {}, extra_opsets=["com.else"])
    with pytest.raises(MigrateError) as caught:
        migrate.load(model)
    assert [d.code for d in caught.value.diagnostics] == ["MIG201"]
    spoiled = model.SerializeToString().replace(b"Relu", b"Re\xff\xfe")
    with pytest.raises(MigrateError) as caught:
        migrate.load(onnx.load_from_string(spoiled))
    assert caught.value.status == Exit.INPUT
