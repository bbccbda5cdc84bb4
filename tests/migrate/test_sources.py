"""What a user may give as a model is recognised by its content; what is none is refused before it is read."""

from __future__ import annotations

import hashlib
import io
import os
import time
import zipfile
from pathlib import Path

import pytest

from migrate.errors import Exit, MigrateError
from migrate.frontends.onnx import OnnxOracle
from migrate.options import Options
from migrate.sources import name_of, open_source, recognise
from tests.onnx_files import mlp, save


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data.pkl", b"x")
    return file.getvalue()


def code_of(path: Path | str) -> str:
    start = time.monotonic()
    with pytest.raises(MigrateError) as caught:
        open_source(path)
    assert caught.value.status == Exit.INPUT
    assert time.monotonic() - start < 10
    return caught.value.diagnostics[0].code


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (zipped(), "MIG104"),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "MIG141"),
        (b"\x80\x02}q\x00." + bytes(20), "MIG123"),
        (b"", "MIG102"),
        (b"\x89PNG\r\n\x1a\n" + bytes(64), "MIG102"),
        (b"hello\n", "MIG102"),
        (mlp().SerializeToString()[:200], "MIG102"),
    ],
    ids=["zip", "hdf5", "pickle", "empty", "png", "text", "truncated"],
)
def test_content_that_is_no_onnx(content: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    assert code_of(path) == code


@pytest.mark.parametrize("suffix", [".pt", ".pt2", ".pth", ".keras", ".h5", ".pb", ".tflite", ".PT"])
def test_content_that_its_suffix_does_not_promise(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"model{suffix}"
    path.write_bytes(b"anything")
    assert code_of(path) == "MIG104"


def test_places_that_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.onnx")
    (tmp_path / "broken.onnx").symlink_to("nowhere")
    assert code_of(tmp_path) == "MIG104"
    assert code_of(tmp_path / "missing.onnx") == "MIG101"
    assert code_of(tmp_path / "pipe.onnx") == "MIG101"
    assert code_of(tmp_path / "broken.onnx") == "MIG101"
    assert code_of(str(tmp_path / ("long" * 200 + ".onnx"))) == "MIG101"
    assert code_of("/dev/zero") == "MIG101"
    assert code_of("nul\0.onnx") == "MIG101"


def test_a_file_and_what_it_holds(tmp_path: Path) -> None:
    model = mlp()
    path = save(model, tmp_path / "folder" / "small.onnx")
    for source in (path, str(path)):
        opened = open_source(source)
        assert opened.name == "small.onnx", "no folder of the machine"
        assert opened.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert opened.description.format == "ONNX"
        assert isinstance(opened.oracle(), OnnxOracle)


def test_a_model_in_memory() -> None:
    model = mlp()
    opened = open_source(model)
    assert opened.name == "model.onnx" and opened.sha256 == hashlib.sha256(model.SerializeToString()).hexdigest()


def test_onnx_under_a_name_of_pytorch(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(mlp().SerializeToString())
    assert open_source(path).description.format == "ONNX"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("torchvision.models:resnet18", "resnet18"),
        ("mine:Nets.small", "Nets.small"),
        ("folder/model.v2.onnx", "model.v2"),
        (Path("model.pt2"), "model"),
        ("C:folder/model.onnx", "model"),
    ],
)
def test_the_name_of_a_source(text: str | Path, name: str) -> None:
    assert name_of(text) == name


def test_a_factory_is_told_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert recognise("pkg.models:build") == "factory"
    Path("pkg.models:build").write_bytes(mlp().SerializeToString())
    assert recognise("pkg.models:build") == "onnx"
    for text in ("pkg.models", "pkg.models:", ":build", "pkg/models:build", "pkg.models:build()", "1pkg:build"):
        with pytest.raises(MigrateError, match="MIG101"):
            recognise(text)


def test_a_dtype_is_not_said_of_an_onnx_file(tmp_path: Path) -> None:
    path = save(mlp(), tmp_path / "small.onnx")
    with pytest.raises(MigrateError, match="MIG130") as caught:
        open_source(path, Options(input_shapes={"x": (2, 4)}, input_dtypes={"x": "int64"}))
    assert caught.value.status == Exit.USAGE


def test_what_is_no_model_at_all() -> None:
    with pytest.raises(MigrateError, match="MIG104") as caught:
        open_source(42)
    assert caught.value.status == Exit.INPUT
