"""Keras on torch for the tests, and models that several of them use."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import migrate
from migrate.frontends.keras.worker import count_no_padding

os.environ["KERAS_BACKEND"] = "torch"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import keras

L: Any = keras.layers
Layers = Callable[[Any], Any]


def model_of(shape: tuple[int | None, ...], layers: Layers, dtype: str = "float32") -> Any:
    """A functional model of one input, with weights that are all different."""
    given = keras.Input(shape, dtype=dtype, name="x")
    return redrawn(keras.Model(given, layers(given)))


def redrawn(model: Any) -> Any:
    """Fresh random numbers for every variable, positive where it is a variance."""
    draw = np.random.default_rng(0)
    for variable in model.weights:
        if "float" not in str(variable.dtype):
            continue
        values = draw.normal(size=variable.shape, scale=0.4)
        variable.assign(np.abs(values) + 0.5 if "variance" in variable.path else values)
    return model


def small_cnn() -> Any:
    """Strided SAME convolution, normalisation, pooling, Flatten of an image, two dense layers."""

    def layers(x: Any) -> Any:
        x = L.Conv2D(8, 3, strides=2, padding="same", use_bias=False, name="stem")(x)
        x = L.ReLU()(L.BatchNormalization(name="stem_norm")(x))
        x = L.Conv2D(6, 3, activation="relu", padding="same")(L.MaxPooling2D(2)(x))
        x = L.Dense(20, activation="relu")(L.Flatten()(L.Dropout(0.3)(x)))
        return L.Dense(5, activation="softmax", name="head")(x)

    return model_of((16, 16, 3), layers)


def saved(model: Any, path: Path) -> Path:
    """The model in a file; Keras warns of its older format."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.save(path)
    return path


def compared(model: Any, path: Path, x: Any) -> None:
    """The emitted module gives what Keras gives, and the same gradient by its input."""
    mine = migrate.to_module(saved(model, path))
    count_no_padding(keras, model)
    results: list[tuple[Any, Any]] = []
    for run in (lambda t: model(t, training=False), mine):
        given = torch.tensor(x, requires_grad=x.dtype.kind == "f")
        out = run(given)
        weights = torch.randn(out.shape, generator=torch.Generator().manual_seed(0))
        (out * weights).sum().backward()
        results.append((out.detach().numpy(), given.grad))
    (right, by_input), (found, mine_by_input) = results
    assert found.shape == right.shape
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4)
    if by_input is not None:
        np.testing.assert_allclose(mine_by_input, by_input, rtol=1e-4, atol=1e-4)
