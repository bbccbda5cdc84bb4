"""What a frontend can say of a source file besides its graph: who wrote it, what is in it, what is odd about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """Facts of the file itself, as its own format has them."""

    format: str
    producer: str = ""
    opsets: Mapping[str, int] = field(default_factory=dict[str, int])
    operators: Mapping[str, int] = field(default_factory=dict[str, int])
    oddities: tuple[str, ...] = ()
