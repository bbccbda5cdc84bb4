"""What the model takes and returns, the defaults of its free sizes, and what may be changed."""

from __future__ import annotations

from dataclasses import dataclass

from .runtime.package import TensorSpec

INPUTS = (
    TensorSpec(name="image", shape=("batch", 3, "height", "width"), dtype="float32", batch_axis=0),
)
OUTPUTS = (TensorSpec(name="probabilities", shape=("batch", 10), dtype="float32", batch_axis=0),)
SIZES: dict[str, int] = {"height": 64, "width": 96}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """What may be changed about the model; the defaults are the source's."""

    dropout: float = 0.10000000149011612
    """The dropout rate of the source."""

    num_classes: int = 10
    """The rows of the last linear layer."""

    width: int = 8
    """What all channels are multiples or parts of."""
