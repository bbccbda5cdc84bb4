"""What is no model, or no safe one, ends in a diagnostic with exit status 3, whatever is wrong with its bytes."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from migrate.errors import Exit, MigrateError
from migrate.frontends.onnx import load_onnx, open_onnx
from migrate.frontends.onnx.reader import digest_of, read_model
from tests.onnx_files import SMALL, build, floats, mlp, node, save, weight

CONTENTS: dict[str, bytes] = {
    "empty": b"",
    "png": b"\x89PNG\r\n\x1a\n" + bytes(64),
    "text": b"this is no model\n",
    "json": b'{"graph": {}}',
    "noise": random.Random(0).randbytes(500),
    "zeros": bytes(100),
    "no graph": onnx.ModelProto(ir_version=8).SerializeToString(),
}


def refused(source: Any) -> MigrateError:
    with pytest.raises(MigrateError) as caught:
        open_onnx(source)
    assert caught.value.status == Exit.INPUT
    return caught.value


@pytest.mark.parametrize("name", CONTENTS)
def test_what_is_no_model_is_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(CONTENTS[name])
    assert refused(file).diagnostics[0].code == "MIG102"


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    whole, file = mlp().SerializeToString(), tmp_path / "model.onnx"
    for length in range(0, len(whole), 3):
        file.write_bytes(whole[:length])
        refused(file)


@pytest.mark.parametrize("name", ["mlp", "conv_net", "tagger"])
def test_changed_bytes_end_in_a_graph_or_a_diagnostic(name: str, tmp_path: Path) -> None:
    whole, file, chance = SMALL[name]().SerializeToString(), tmp_path / "model.onnx", random.Random(1)
    for _ in range(60):
        broken = bytearray(whole)
        for _ in range(chance.choice([1, 1, 2, 8])):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        file.write_bytes(bytes(broken))
        try:
            load_onnx(file)
        except MigrateError as fault:
            assert fault.status in (Exit.INPUT, Exit.UNSUPPORTED)


# ---- graphs that are none


def renamed(text: bytes, by: bytes) -> onnx.ModelProto:
    """The small model with a string replaced in its bytes: both must be of one length."""
    assert len(text) == len(by)
    return onnx.load_from_string(mlp().SerializeToString().replace(text, by))


def stored(**fields: Any) -> onnx.ModelProto:
    """A model whose weight is declared as given."""
    model = build([node("MatMul", ["x", "W"], ["y"])], {"W": weight(8, 6)})
    for key, value in fields.items():
        if key == "dims":
            model.graph.initializer[0].dims[:] = value
        else:
            setattr(model.graph.initializer[0], key, value)
    return model


def twice() -> onnx.ModelProto:
    return build([node("MatMul", ["x", "W"], ["y"]), node("Relu", ["x"], ["y"], name="again")], {"W": weight(8, 6)})


def cycle() -> onnx.ModelProto:
    nodes = [node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("MatMul", ["b", "W"], ["y"])]
    return build(nodes, {"W": weight(8, 6)})


def no_opset() -> onnx.ModelProto:
    model = mlp()
    del model.opset_import[:]
    return model


def constant(**attributes: Any) -> onnx.ModelProto:
    """A model whose constant has these values."""
    return build([node("Constant", [], ["c"], **attributes), node("Add", ["x", "c"], ["y"])], {})


def recursive() -> onnx.ModelProto:
    model = build([node("F", ["x"], ["y"], domain="local")], {}, extra_opsets=["local"])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    body = [node("F", ["a"], ["b"], domain="local")]
    model.functions.append(helper.make_function("local", "F", ["a"], ["b"], body, opsets))
    return model


INVALID: dict[str, tuple[Callable[[], onnx.ModelProto], str]] = {
    "a value that nothing makes": (lambda: build([node("MatMul", ["x", "V"], ["y"])], {}), "'V', which nothing makes"),
    "an output that nothing makes": (lambda: build([node("Relu", ["x"], ["r"])], {}), "nothing makes the output 'y'"),
    "two values of one name": (twice, "redeclared"),
    "a cycle": (cycle, "cycle"),
    "no opset": (no_opset, "no opset"),
    "a function that calls itself": (recursive, "Cyclic"),
    "a name that is no text": (lambda: renamed(b"MatMul_h", b"MatMul\xff\xfe"), "not UTF-8"),
    "an operator that is no text": (lambda: renamed(b"Relu", b"Re\xc0\xc0"), "not UTF-8"),
    "a producer that is no text": (lambda: renamed(b"tests", b"te\xffts"), "not UTF-8"),
    "a constant without a value": (lambda: constant(), "'c' has no value"),
    "a constant of two values": (lambda: constant(value_int=1, value_float=1.0), "'c' has 2 values"),
    "a weight of other sizes": (lambda: stored(dims=[8, 7]), "'W' cannot be read"),
    "a weight of a huge size": (lambda: stored(dims=[2**40, 2**40]), "'W' cannot be read"),
    "a weight of a negative size": (lambda: stored(dims=[-8, -6]), "'W' cannot be read"),
    "a weight of no type": (lambda: stored(data_type=77), ""),
}


@pytest.mark.parametrize("name", INVALID)
def test_a_graph_that_is_none_is_refused(name: str, tmp_path: Path) -> None:
    make, why = INVALID[name]
    fault = refused(save(make(), tmp_path / "model.onnx"))
    assert fault.diagnostics[0].code == "MIG102" and why in str(fault)


# ---- external data


def external(location: str, **extra: str) -> onnx.ModelProto:
    """The weight lies in a file."""
    model = build([node("MatMul", ["x", "W"], ["y"])], {"W": weight(8, 6)})
    _move(model.graph.initializer[0], location, extra)
    return model


def external_constant(location: str) -> onnx.ModelProto:
    """The tensor of a `Constant` node lies in a file."""
    tensor = onnx.numpy_helper.from_array(weight(8, 6), "W")
    _move(tensor, location, {})
    return build([node("Constant", [], ["W"], value=tensor), node("MatMul", ["x", "W"], ["y"])], {})


def external_branch(location: str) -> onnx.ModelProto:
    """A weight inside the branch of an `If` lies in a file."""
    tensor = onnx.numpy_helper.from_array(weight(8, 6), "W")
    _move(tensor, location, {})
    branch = helper.make_graph([node("MatMul", ["x", "W"], ["z"])], "branch", [], [floats("z", None)], [tensor])
    chosen = node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    return build([chosen], {"c": np.array(True)})


def _move(tensor: TensorProto, location: str, extra: dict[str, str]) -> None:
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **extra}.items():
        tensor.external_data.add(key=key, value=value)


@pytest.mark.parametrize("make", [external, external_constant, external_branch])
@pytest.mark.parametrize("location", ["../secret.bin", "sub/../../secret.bin", "/etc/hostname", "link.bin"])
def test_external_data_outside_the_folder_is_refused(make: Any, location: str, tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(bytes(8 * 6 * 4))
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    fault = refused(save(make(location), folder / "model.onnx"))
    assert fault.diagnostics[0].code == "MIG103"


@pytest.mark.parametrize(
    ("model", "size"),
    [
        (external("weights.bin"), None),
        (external("weights.bin"), 100),
        (external("weights.bin", offset="64"), 192),
        (external("weights.bin", length="8"), 192),
    ],
    ids=["missing", "short", "behind the end", "length too small"],
)
def test_external_data_that_is_not_there_is_refused(model: onnx.ModelProto, size: int | None, tmp_path: Path) -> None:
    if size is not None:
        (tmp_path / "weights.bin").write_bytes(bytes(size))
    assert refused(save(model, tmp_path / "model.onnx")).diagnostics[0].code == "MIG101"


def test_external_data_beside_the_file_is_read(tmp_path: Path) -> None:
    content = weight(8, 6)
    (tmp_path / "weights.bin").write_bytes(bytes(64) + content.tobytes())
    graph = load_onnx(save(external("weights.bin", offset="64"), tmp_path / "model.onnx"))
    (found,) = (v.weight.array() for v in graph.weights() if v.weight)
    np.testing.assert_array_equal(found, content.T)


def test_a_model_in_memory_has_no_folder() -> None:
    assert "give the model's path" in str(refused(external("weights.bin")))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MigrateError, match="MIG101"):
        read_model(tmp_path / "nothing.onnx")


def test_nodes_are_put_in_order() -> None:
    nodes = [node("Relu", ["h"], ["y"]), node("MatMul", ["x", "W"], ["h"])]
    assert [n.op_type for n in open_onnx(build(nodes, {"W": weight(8, 6)})).graph] == ["MatMul", "Relu"]


def test_local_functions_are_inlined() -> None:
    model = build([node("F", ["x"], ["y"], domain="local")], {}, extra_opsets=["local"])
    opsets = [helper.make_opsetid("", 17)]
    model.functions.append(helper.make_function("local", "F", ["a"], ["b"], [node("Relu", ["a"], ["b"])], opsets))
    assert [n.op_type for n in open_onnx(model).graph] == ["Relu"]


def test_the_digest_covers_the_files_of_the_weights(tmp_path: Path) -> None:
    """One of all files, in order of name; of a model in one file it is the file's own."""
    path, data = tmp_path / "m.onnx", tmp_path / "weights.bin"
    path.write_bytes(external("weights.bin").SerializeToString())
    data.write_bytes(bytes(192))
    before = digest_of(path, read_model(path))
    parts = b"".join(hashlib.sha256(file.read_bytes()).digest() for file in (path, data))
    assert before == hashlib.sha256(parts).hexdigest()
    data.write_bytes(bytes(191) + b"\x01")
    assert digest_of(path, read_model(path)) != before
    whole = tmp_path / "whole.onnx"
    whole.write_bytes(mlp().SerializeToString())
    alone = hashlib.sha256(whole.read_bytes()).hexdigest()
    assert digest_of(whole, read_model(whole)) == digest_of(mlp(), read_model(whole)) == alone
