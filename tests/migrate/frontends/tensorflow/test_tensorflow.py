"""Small models of each kind that TensorFlow saves, against what TensorFlow itself made of them; and what is refused.

The models and their outputs lie in `models.zip`; `make_models.py` writes it.
"""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

import migrate
from migrate.errors import Exit, MigrateError
from migrate.frontends.tensorflow.files import read_tensorflow
from migrate.frontends.tensorflow.oracle import has_tensorflow
from migrate.options import Options

ARCHIVE = Path(__file__).with_name("models.zip")
MODELS = ("keras3", "keras2", "module", "recurrent3", "series3", "old", "frozen.pb")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tensorflow")
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(made)
    return made


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_computes_what_tensorflow_does(name: str, folder: Path) -> None:
    arrays = np.load(folder / "arrays.npz")
    module = migrate.to_module(folder / name)
    found = module(torch.from_numpy(arrays[f"{name}/x"]))
    outputs = sorted(key for key in arrays.files if key.startswith(f"{name}/="))
    for left, key in zip(found if isinstance(found, tuple) else (found,), outputs, strict=True):
        torch.testing.assert_close(left, torch.from_numpy(arrays[key]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "trained"), [("keras3", 6), ("keras2", 6), ("old", 3), ("frozen.pb", 3)])
def test_what_is_trained_in_the_source_is_trained_in_the_package(name: str, trained: int, folder: Path) -> None:
    parameters = list(migrate.to_module(folder / name).parameters())
    assert sum(p.requires_grad for p in parameters) == trained
    frozen = {tuple(p.shape) for p in parameters if not p.requires_grad}
    assert frozen == ({(6, 1, 3, 3), (6,)} if name.startswith("keras") else set())


def test_keras_2_keeps_momentum_and_dropout(folder: Path) -> None:
    modules = list(migrate.to_module(folder / "keras2").modules())
    assert [getattr(m, "momentum", None) for m in modules if hasattr(m, "running_mean")] == [0.1, 0.1]
    assert [m.p for m in modules if isinstance(m, torch.nn.Dropout)] == [0.3]


def test_what_keras_3_does_not_save_is_said(folder: Path) -> None:
    assert [note.code for note in migrate.load(folder / "keras3").notes] == ["MIG350", "MIG351"]


def test_an_image_model_turns_its_input_once(folder: Path) -> None:
    graph = migrate.load(folder / "keras2")
    assert [node.op.name for node in graph.nodes].count("permute") == 1


def test_weights_have_the_names_of_variables(folder: Path) -> None:
    names = {variable.name for variable in read_tensorflow(folder / "keras3").variables.values()}
    assert {"conv2d/kernel", "batch_normalization/moving_mean", "frozen/bias", "dense/kernel"} <= names


def _refused(path: Path) -> tuple[str, Exit]:
    with pytest.raises(MigrateError) as caught:
        migrate.load(path)
    return caught.value.diagnostics[0].code, caught.value.status


def test_a_checkpoint_alone_is_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "keras3" / "variables", tmp_path / "weights")
    assert _refused(tmp_path / "weights") == ("MIG152", Exit.INPUT)
    assert _refused(tmp_path / "weights" / "variables.index") == ("MIG152", Exit.INPUT)


@pytest.mark.parametrize(
    "part", ["saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"]
)
def test_a_damaged_model_is_refused(part: str, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "keras3", tmp_path / "model")
    data = (tmp_path / "model" / part).read_bytes()
    for length in (0, len(data) // 3, len(data) - 5):
        (tmp_path / "model" / part).write_bytes(data[:length])
        assert _refused(tmp_path / "model")[1] in (Exit.INPUT, Exit.UNSUPPORTED)


def test_changed_bytes_never_crash(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "old", tmp_path / "model")
    rng = np.random.default_rng(7)
    for part in ("saved_model.pb", "variables/variables.index"):
        data = (tmp_path / "model" / part).read_bytes()
        for _ in range(40):
            changed = bytearray(data)
            for place in rng.integers(0, len(data), 3):
                changed[place] = int(rng.integers(0, 256))
            (tmp_path / "model" / part).write_bytes(bytes(changed))
            try:
                migrate.load(tmp_path / "model")
            except MigrateError as fault:
                assert fault.status in (Exit.INPUT, Exit.UNSUPPORTED)
        (tmp_path / "model" / part).write_bytes(data)


def test_no_variables_are_an_error_and_not_zeros(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "keras3" / "saved_model.pb", tmp_path)
    assert _refused(tmp_path) == ("MIG151", Exit.INPUT)


@pytest.mark.slow
@pytest.mark.skipif(not has_tensorflow(), reason="TensorFlow, the extra [tensorflow], is not installed")
@pytest.mark.parametrize("name", MODELS)
def test_tensorflow_judges_the_package(name: str, folder: Path, tmp_path: Path) -> None:
    report = migrate.convert(folder / name, "cpu", tmp_path / "out", Options(name="model"))
    assert report.verdict.outcome == "verified"


@pytest.mark.skipif(has_tensorflow(), reason="TensorFlow is installed")
def test_without_tensorflow_the_error_names_the_extra(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(MigrateError) as caught:
        migrate.convert(folder / "old", "cpu", tmp_path / "out", Options(name="model"))
    assert caught.value.diagnostics[0].code == "MIG512"
    assert "[tensorflow]" in caught.value.diagnostics[0].todo
    assert not (tmp_path / "out").exists()
