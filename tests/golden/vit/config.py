"""What the model takes and returns, the defaults of its free sizes, and what may be changed."""

from __future__ import annotations

from dataclasses import dataclass

from .runtime.package import TensorSpec

INPUTS = (TensorSpec(name="image", shape=("batch", 3, 16, 16), dtype="float32", batch_axis=0),)
OUTPUTS = (TensorSpec(name="output", shape=("batch", 10), dtype="float32", batch_axis=0),)
SIZES: dict[str, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """What may be changed about the model; the defaults are the source's."""

    dropout: float = 0.1
    """The dropout rate of the source."""

    num_classes: int = 10
    """The rows of the last linear layer."""

    hidden_size: int = 36
    """What all channels are multiples or parts of; a multiple of 3."""

    num_layers: int = 4
    """The members of layers."""
