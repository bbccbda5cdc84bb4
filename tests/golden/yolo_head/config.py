"""What the model takes and returns, the defaults of its free sizes, and what may be changed."""

from __future__ import annotations

from dataclasses import dataclass

from .runtime.package import TensorSpec

INPUTS = (TensorSpec(name="image", shape=("batch", 3, 32, 32), dtype="float32", batch_axis=0),)
OUTPUTS = (
    TensorSpec(name="output_0", shape=("batch", 4, 84), dtype="float32", batch_axis=0),
    TensorSpec(name="output_1", shape=("batch", 5, 84), dtype="float32", batch_axis=0),
)
SIZES: dict[str, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """What may be changed about the model; the defaults are the source's."""

    width: int = 16
    """What all channels are multiples or parts of; a multiple of 2."""
