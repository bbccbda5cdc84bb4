"""What the model takes and returns, the defaults of its free sizes, and what may be changed."""

from __future__ import annotations

from dataclasses import dataclass

from .runtime.package import TensorSpec

INPUTS = (TensorSpec(name="ids", shape=("batch", 7), dtype="int64", high=20, batch_axis=0),)
OUTPUTS = (TensorSpec(name="tags", shape=("batch", 7, 3), dtype="float32", batch_axis=0),)
SIZES: dict[str, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """What may be changed about the model; the defaults are the source's."""

    num_classes: int = 3
    """The rows of the last linear layer."""
