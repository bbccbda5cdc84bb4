"""The facts: what they refuse, and the totals that follow from them."""

import dataclasses
import re
from pathlib import Path

import pytest

from reports import Inventory, SourceFacts, TargetFacts, Weight


@pytest.mark.parametrize("name", ["/home/a/model.onnx", "models/model.onnx", "C:\\models\\model.onnx"])
def test_source_with_a_folder_is_refused(name):
    with pytest.raises(ValueError, match="without its folder"):
        SourceFacts(name=name, format="ONNX")


def test_facts_are_frozen(example):
    with pytest.raises(dataclasses.FrozenInstanceError):
        example.package = "other"


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [
        ((2, 3), "float32", 24),
        ((2, 3), "bfloat16", 12),
        ((), "int64", 8),
        ((5,), "bool", 5),
        ((4,), "float8_e4m3fn", 4),
        ((0, 7), "float64", 0),
    ],
)
def test_weight_bytes(shape, dtype, size):
    assert Weight(name="w", shape=shape, dtype=dtype, role="parameter").num_bytes == size


def test_inventory_counts_a_tie_once():
    weight = Weight(name="a", shape=(10, 4), dtype="float32", role="parameter")
    frozen = Weight(name="b", shape=(3,), dtype="float32", role="parameter", trainable=False)
    buffer = Weight(name="c", shape=(5,), dtype="float32", role="buffer", trainable=False)
    tied = Weight(name="d", shape=(10, 4), dtype="float32", role="parameter", tied_to="a")
    inventory = Inventory(weights=(weight, frozen, buffer, tied))
    assert inventory.of_role("parameter") == (weight, frozen)
    assert inventory.trainable == (weight,)
    assert inventory.ties == (tied,)
    assert inventory.num_trainable == 40
    assert inventory.num_bytes == 4 * (40 + 3 + 5)


def test_reference_target_says_that_it_is_no_product():
    assert (
        TargetFacts(name="vendor_a", kind="reference", device="vendor_a").description == "reference target, no product"
    )
    assert TargetFacts(name="cuda", kind="product", device="cuda").description == ""


def test_the_example_of_the_documentation_runs(capsys):
    document = Path(__file__).parents[2].joinpath("docs", "report.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", document, re.DOTALL)
    exec(compile(example, "docs/report.md", "exec"), {})
    assert capsys.readouterr().out.startswith("# Migration of `digits.onnx` to `vendor_a`\n")
