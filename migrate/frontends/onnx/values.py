"""What an ONNX value may be beside a tensor: a sequence of a known number of items, or an optional that is known to be empty.

An optional that holds something is what it holds. Knows no operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from migrate.frontends.onnx.registry import Unsupported
from migrate.graph import Value
from migrate.graph.sizes import Dim

if TYPE_CHECKING:
    from migrate.frontends.onnx.importer import OnnxBuilder


@dataclass(frozen=True, slots=True)
class Sequence:
    """Tensors in order."""

    items: tuple[Value, ...]

    @property
    def rank(self) -> int:
        """That of the items."""
        return self.items[0].rank if self.items else 0


class Nothing:
    """An optional that holds nothing."""

    rank = 0


def known_truth(b: OnnxBuilder, value: Value) -> bool | None:
    """Whether a condition holds; None where that depends on the data.

    Raises:
        SizeError: it depends on the sizes of the inputs.
    """
    try:
        items = b.numbers(value)
    except Unsupported:
        return None
    (item,) = items
    return item > 0 or item < 0 if isinstance(item, Dim) else bool(item)


def only_sequence(value: Any) -> Sequence:
    """The value, where it is a sequence.

    Raises:
        Unsupported: it is not one.
    """
    if not isinstance(value, Sequence):
        raise Unsupported("what should be a sequence is none")
    return value
