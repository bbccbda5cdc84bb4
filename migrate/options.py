"""What a user may choose of a run. Knows nothing of how it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a user may choose; the defaults are those of the command line."""

    name: str | None = None
    input_shapes: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    loss: str = "auto"
    optimizer: str = "adamw"
    precision: str = "fp32"
    freeze: tuple[str, ...] = ()
    trainable: tuple[str, ...] = ()
    batch_size: int = 8
    verify: bool = True
    strict: bool = False
    overwrite: bool = False
    progress: Callable[[str], None] = lambda text: None
