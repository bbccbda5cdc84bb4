"""Layers against Keras by numbers: outputs and the gradient by the input, in evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.migrate.frontends.keras.models import L, Layers, compared, keras, model_of

IMAGE, SIGNAL, VOLUME, ROW = (11, 10, 4), (13, 4), (7, 6, 5, 4), (6,)


def _residual(x: Any) -> Any:
    y = L.Conv2D(4, 3, padding="same", activation="relu")(x)
    squeezed = L.Reshape((1, 1, 4))(L.GlobalAveragePooling2D()(y))
    return L.Add()([L.Multiply()([y, L.Conv2D(4, 1, activation="sigmoid")(squeezed)]), x])


TABLE: dict[str, tuple[tuple[int | None, ...], Layers]] = {
    "dense": (ROW, L.Dense(5, activation="gelu")),
    "dense of a sequence": (SIGNAL, L.Dense(5, use_bias=False)),
    "flatten, dense": (IMAGE, lambda x: L.Dense(3)(L.Flatten()(L.MaxPooling2D(2)(x)))),
    "flatten, dropout, dense": (IMAGE, lambda x: L.Dense(3)(L.Dropout(0.5)(L.Flatten()(L.Conv2D(2, 3)(x))))),
    "flatten at the end": (IMAGE, lambda x: L.Flatten()(L.Conv2D(2, 3)(x))),
    "conv1d causal": (SIGNAL, L.Conv1D(3, 3, padding="causal", dilation_rate=2)),
    "conv3d same": (VOLUME, L.Conv3D(3, 3, strides=2, padding="same")),
    "groups": (IMAGE, L.Conv2D(6, 3, groups=2)),
    "depthwise": (IMAGE, L.DepthwiseConv2D(3, strides=2, padding="same", depth_multiplier=2)),
    "separable": (IMAGE, L.SeparableConv2D(5, 3, padding="same", activation="relu")),
    "separable 1d": (SIGNAL, L.SeparableConv1D(5, 3)),
    "batch norm": (IMAGE, lambda x: L.BatchNormalization()(L.Conv2D(3, 1)(x))),
    "batch norm of rows": (ROW, L.BatchNormalization()),
    "batch norm without scale": (IMAGE, L.BatchNormalization(scale=False)),
    "batch norm without centre": (IMAGE, L.BatchNormalization(center=False)),
    "frozen batch norm": (IMAGE, lambda x: L.BatchNormalization(trainable=False)(L.Conv2D(3, 1)(x))),
    "layer norm": (SIGNAL, L.LayerNormalization()),
    "group norm": (IMAGE, L.GroupNormalization(2)),
    "unit norm": (SIGNAL, L.UnitNormalization()),
    "global": (IMAGE, lambda x: L.Concatenate()([L.GlobalAveragePooling2D()(x), L.GlobalMaxPooling2D()(x)])),
    "global kept": (IMAGE, L.GlobalAveragePooling2D(keepdims=True)),
    "squeeze and excite": (IMAGE, _residual),
    "branches": (IMAGE, lambda x: L.Concatenate()([L.Conv2D(2, 1)(x), x, L.Activation("tanh")(x)])),
    "padding, cropping": (IMAGE, lambda x: L.Cropping2D(((1, 0), (2, 1)))(L.ZeroPadding2D(((0, 1), (2, 3)))(x))),
    "upsampling": (IMAGE, L.UpSampling2D(2)),
    "reshape, permute": (SIGNAL, lambda x: L.Permute((2, 1))(L.Reshape((26, 2))(x))),
    "repeat": (ROW, L.RepeatVector(3)),
    "softmax of channels": (IMAGE, lambda x: L.Softmax()(L.Conv2D(3, 1)(x))),
    "rescaling": (IMAGE, L.Rescaling(1 / 127.5, offset=-1)),
    "prelu shared": (IMAGE, lambda x: L.PReLU(shared_axes=[1, 2])(L.Conv2D(3, 1)(x))),
    "normalization": (IMAGE, L.Normalization()),
    "prelu": (IMAGE, L.PReLU()),
    "merging": (ROW, lambda x: L.Average()([L.Maximum()([x, L.ELU()(x)]), L.Minimum()([x, L.LeakyReLU()(x)])])),
    "operations": (ROW, lambda x: (L.Dense(6)(x) - x) * 2.0 + keras.ops.relu(x)),
}
for _stride, _size in ((1, 3), (2, 3), (2, 2), (3, 2), (1, 4)):
    _same: dict[str, Any] = {"strides": _stride, "padding": "same"}
    TABLE[f"conv same {_stride} {_size}"] = (IMAGE, L.Conv2D(3, _size, **_same))
    TABLE[f"max pool same {_stride} {_size}"] = (IMAGE, L.MaxPooling2D(_size, **_same))
    TABLE[f"average pool same {_stride} {_size}"] = (IMAGE, L.AveragePooling2D(_size, **_same))
    for _padding in ("same", "valid"):
        _layer = L.Conv2DTranspose(3, _size, strides=_stride, padding=_padding)
        TABLE[f"transposed {_padding} {_stride} {_size}"] = (IMAGE, _layer)
for _name in ("relu6", "silu", "elu", "selu", "softplus", "hard_sigmoid", "hard_silu", "leaky_relu", "exponential"):
    TABLE[_name] = (ROW, L.Activation(_name))


@pytest.mark.parametrize("name", TABLE)
def test_a_layer_computes_what_keras_computes(name: str, tmp_path: Path) -> None:
    shape, layers = TABLE[name]
    model = model_of(shape, layers)
    drawn = np.random.default_rng(1).normal(size=(3, *shape)).astype("float32")
    compared(_anchored(model), tmp_path / "model.keras", drawn)


def _anchored(model: Any) -> Any:
    """The model with a trained factor on its input, for layers that have nothing to train: a package must have something."""
    if model.trainable_weights:
        return model
    given = keras.Input(model.input_shape[1:], name="x")
    return keras.Model(given, model(L.Dense(given.shape[-1], kernel_initializer="orthogonal")(given)))
