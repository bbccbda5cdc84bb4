"""What the model takes and returns, the defaults of its free sizes, and what may be changed."""

from __future__ import annotations

from dataclasses import dataclass

from .runtime.package import TensorSpec

INPUTS = (TensorSpec(name="x", shape=("batch", 16), dtype="int64", high=101, batch_axis=0),)
OUTPUTS = (TensorSpec(name="y", shape=("batch", 16, 32), dtype="float32", batch_axis=0),)
SIZES: dict[str, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """What may be changed about the model; the defaults are the source's."""

    dropout: float = 0.10000000149011612
    """The dropout rate of the source."""

    hidden_size: int = 32
    """What all channels are multiples or parts of; a multiple of 4."""

    num_layers: int = 3
    """The members of model.encoder.layer."""
