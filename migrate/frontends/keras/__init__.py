"""The Keras frontend: a `.keras` archive or a whole-model `.h5` becomes the common graph, without Keras or TensorFlow."""

from __future__ import annotations

from migrate.frontends.keras.files import KerasFile, read_keras
from migrate.frontends.keras.importer import describe_keras, load_keras

__all__ = ["KerasFile", "describe_keras", "load_keras", "read_keras"]
