"""Reads TensorFlow's SavedModels and frozen graphs. The only part that knows their messages and operators."""

from migrate.frontends.tensorflow.files import is_saved_model, read_tensorflow, refuse_weights, weights_alone
from migrate.frontends.tensorflow.importer import describe_tensorflow, load_tensorflow

__all__ = [
    "describe_tensorflow", "is_saved_model", "load_tensorflow", "read_tensorflow", "refuse_weights", "weights_alone",
]  # fmt: skip
