"""Whole models against Keras, what is refused, and what is not imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import migrate
from migrate.errors import Exit, MigrateError
from tests.migrate.frontends.keras.models import L, Layers, compared, keras, model_of, saved, small_cnn

IMAGE, ROW = (11, 10, 4), (6,)


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_both_formats_give_the_same_module(suffix: str, tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(3, 16, 16, 3)).astype("float32")
    compared(small_cnn(), tmp_path / f"model{suffix}", x)


def test_free_sizes_keep_same_padding_exact(tmp_path: Path) -> None:
    model = model_of(
        (None, None, 3), lambda x: L.GlobalAveragePooling2D()(L.Conv2D(4, 3, strides=2, padding="same")(x))
    )
    mine = migrate.to_module(saved(model, tmp_path / "m.keras"))
    for size in ((16, 16), (15, 18), (7, 9)):
        x = torch.randn(2, *size, 3)
        torch.testing.assert_close(mine(x), model(x), rtol=1e-4, atol=1e-4)


def test_an_image_model_turns_its_input_once(tmp_path: Path) -> None:
    graph = migrate.load(saved(small_cnn(), tmp_path / "m.keras"))
    assert [node.op.name for node in graph.nodes].count("permute") == 1


def test_nested_and_shared_models_with_two_inputs(tmp_path: Path) -> None:
    inner = keras.Sequential([keras.Input((8,)), L.Dense(8, activation="gelu"), L.Dense(8)], name="inner")
    a, b = keras.Input((8,), name="a"), keras.Input((8,), name="b")
    both = L.Concatenate()([inner(a), inner(b)])
    model = keras.Model([a, b], [L.Dense(2)(both), L.Dense(3)(both)])
    mine = migrate.to_module(saved(model, tmp_path / "m.keras"))
    given = [torch.randn(3, 8), torch.randn(3, 8)]
    for found, right in zip(mine(*given), model(given), strict=True):
        torch.testing.assert_close(found, right, rtol=1e-5, atol=1e-5)
    assert len(list(mine.parameters())) == len(model.trainable_weights) == 8


def test_what_is_frozen_stays_so(tmp_path: Path) -> None:
    model = small_cnn()
    model.get_layer("stem").trainable = False
    mine = migrate.to_module(saved(model, tmp_path / "m.keras"))
    assert [name for name, p in mine.named_parameters() if not p.requires_grad] == ["stem.weight"]


def test_momentum_and_eps(tmp_path: Path) -> None:
    norm = migrate.to_module(saved(small_cnn(), tmp_path / "m.keras")).stem_norm
    assert (norm.momentum, norm.eps) == (0.01, 0.001)


REFUSED: dict[str, tuple[tuple[int, ...], Layers, str, Exit]] = {
    "lambda": (ROW, lambda x: L.Lambda(lambda t: t * 2, output_shape=ROW, name="mine")(x), "MIG140", Exit.INPUT),
    "unread layer": (IMAGE, L.ConvLSTM1D(2, 3), "MIG201", Exit.UNSUPPORTED),
    "mask": ((5,), L.Embedding(9, 4, mask_zero=True), "MIG203", Exit.UNSUPPORTED),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_names_its_layer(name: str, tmp_path: Path) -> None:
    shape, layers, code, status = REFUSED[name]
    path = saved(model_of(shape, layers), tmp_path / "m.keras")
    with pytest.raises(MigrateError) as caught:
        migrate.load(path)
    found = caught.value.diagnostics[0]
    assert (found.code, caught.value.status) == (code, status)
    assert found.where


def test_conversion_imports_neither_keras_nor_tensorflow(tmp_path: Path) -> None:
    path = saved(small_cnn(), tmp_path / "m.keras")
    code = "import sys, migrate; migrate.load(sys.argv[1]); assert not {'keras', 'tensorflow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


@pytest.mark.slow
def test_a_package_learns_as_keras_does(tmp_path: Path) -> None:
    report = migrate.convert(saved(small_cnn(), tmp_path / "cnn.keras"), "cpu", tmp_path / "out")
    assert report.verdict.outcome == "verified"
