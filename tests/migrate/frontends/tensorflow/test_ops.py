"""Operators in graphs of a few nodes, against what TensorFlow documents of them."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import migrate
from migrate.errors import Exit, MigrateError
from migrate.frontends.tensorflow import load_tensorflow, read_tensorflow
from migrate.frontends.tensorflow.messages import message
from migrate.graph import interpret
from tests.migrate.frontends.tensorflow.op_cases import CASES, drawn

FLOAT = 1
ARCHIVE = Path(__file__).with_name("models.zip")


@pytest.fixture(scope="module")
def archive() -> Iterator[tuple[zipfile.ZipFile, Any]]:
    with zipfile.ZipFile(ARCHIVE) as opened, opened.open("arrays.npz") as file:
        yield opened, np.load(file)


@pytest.mark.parametrize("name", list(CASES))
def test_an_operator_computes_what_tensorflow_does(name: str, archive: Any, tmp_path: Path) -> None:
    opened, arrays = archive
    path = tmp_path / "graph.pb"
    path.write_bytes(opened.read(f"ops/{name}.pb"))
    inputs = [torch.from_numpy(drawn(name, i, shape)) for i, shape in enumerate(CASES[name][0])]
    found = interpret(load_tensorflow(read_tensorflow(path)), *inputs)
    wanted = [arrays[f"ops/{name}/=y{i}"] for i in range(len(found))]
    for left, right in zip(found, wanted, strict=True):
        torch.testing.assert_close(left, torch.from_numpy(right), rtol=1e-5, atol=2e-6, equal_nan=True)


def graph_of(*nodes: tuple[str, str, tuple[str, ...], dict[str, Any]]) -> bytes:
    """A graph of `x`, a float tensor, and these nodes: operator, name, inputs, attributes."""
    graph = message("GraphDef")
    for op, name, inputs, attributes in (("Placeholder", "x", (), {"dtype": FLOAT, "shape": (-1, 4)}), *nodes):
        node = graph.node.add(op=op, name=name, input=inputs)
        for key, value in attributes.items():
            if key == "shape":
                for size in value:
                    node.attr[key].shape.dim.add(size=size)
            elif isinstance(value, np.ndarray):
                node.attr[key].tensor.dtype = FLOAT if value.dtype == "float32" else 3
                node.attr[key].tensor.tensor_content = value.tobytes()
                for size in value.shape:
                    node.attr[key].tensor.tensor_shape.dim.add(size=size)
            elif key in ("dtype", "T"):
                node.attr[key].type = value
            else:
                node.attr[key].i = value
    return graph.SerializeToString()


def test_unknown_operators_are_named_all_at_once(tmp_path: Path) -> None:
    path = tmp_path / "m.pb"
    path.write_bytes(
        graph_of(("StringJoin", "a", ("x",), {}), ("HashTableV2", "t", (), {}), ("Odd", "b", ("a", "t"), {}))
    )
    with pytest.raises(MigrateError) as caught:
        migrate.load(path)
    assert caught.value.status is Exit.UNSUPPORTED
    assert [(d.code, d.what) for d in caught.value.diagnostics] == [
        ("MIG201", f"the operator {op} is not supported") for op in ("HashTableV2", "Odd", "StringJoin")
    ]
    assert "lookup table" in caught.value.diagnostics[0].why


def test_one_number_does_not_stand_for_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "m.pb"
    graph = message("GraphDef")
    graph.ParseFromString(graph_of(("Const", "c", (), {"dtype": FLOAT}), ("AddV2", "y", ("x", "c"), {})))
    tensor = graph.node[1].attr["value"].tensor
    tensor.dtype = FLOAT
    tensor.float_val.append(1.0)
    for size in (1 << 15, 1 << 15):
        tensor.tensor_shape.dim.add(size=size)
    path.write_bytes(graph.SerializeToString())
    with pytest.raises(MigrateError) as caught:
        migrate.load(path)
    assert caught.value.diagnostics[0].code == "MIG151"


def test_a_cycle_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "m.pb"
    path.write_bytes(graph_of(("AddV2", "a", ("x", "b"), {}), ("Relu", "b", ("a",), {}), ("Relu", "c", ("b",), {})))
    with pytest.raises(MigrateError) as caught:
        migrate.load(path)
    assert caught.value.diagnostics[0].code == "MIG151"


def test_a_division_by_nothing_has_no_gradient_that_is_not_a_number(tmp_path: Path) -> None:
    path = tmp_path / "m.pb"
    path.write_bytes(graph_of(("Sub", "zero", ("x", "x"), {}), ("DivNoNan", "y", ("x", "zero"), {})))
    x = torch.ones(2, 4, requires_grad=True)
    (y,) = interpret(load_tensorflow(read_tensorflow(path)), x)
    y.sum().backward()
    assert not y.any() and x.grad is not None and not x.grad.any()
