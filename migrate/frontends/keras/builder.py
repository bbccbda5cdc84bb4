"""What handlers work with: a `Builder` that knows the layer being read, its variables, and where the channels are.

A Keras tensor of images has its channels last and is kept with them after the batch from the first layer that wants it
so; `Laid` says which of the two a value is. Knows no layer by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from migrate.frontends.keras.registry import Unsupported
from migrate.frontends.keras.variables import Stored
from migrate.graph import Builder, Step, Value, Weight
from migrate.graph.ops import Op

HALF = {"float16": "float32", "bfloat16": "float32", "float64": "float32"}


@dataclass(eq=False, slots=True)
class Laid:
    """A Keras tensor as a value of the graph.

    `first`: its last axis is the second of the value. `flat`: its last axis holds the elements of this shape (channels
    last), which the value has with the channels first.
    """

    value: Value
    first: bool = False
    flat: tuple[int, ...] | None = None


class KerasBuilder(Builder):
    """A `Builder` with what Keras handlers ask for."""

    def __init__(self, name: str, stored: Mapping[str, Stored]) -> None:
        super().__init__(name)
        self.stored = stored
        self.path: tuple[str, ...] = ()
        self.first = False
        self.flat: tuple[int, ...] | None = None
        self.frozen = False
        self._arranged: dict[Any, Value] = {}
        self._moved: dict[tuple[Value, bool], Laid] = {}

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that learns is in the layer's own scope; what goes with it (an activation, padding) is beside it."""
        scope = self.scope
        if scope and op.learns and any(v.weight is not None for v in _tensors((args, kwargs))):
            return super().call(op, args, kwargs)
        self.scope = scope[:-1]
        try:
            return super().call(op, args, kwargs)
        finally:
            self.scope = scope

    # ---- variables

    def has(self, name: str) -> bool:
        """Whether the layer has a variable."""
        return "/".join((*self.path, name)) in self.stored

    def variable(self, name: str, *steps: Step) -> Value:
        """A variable of the layer, rearranged; the same at each call of a shared layer."""
        source = "/".join((*self.path, name))
        stored = self.stored[source]
        role = "buffer" if name.rpartition("/")[2].startswith(("moving_", "mean", "variance")) else "parameter"
        dtype = HALF.get(stored.dtype, stored.dtype)
        weight = Weight(
            source=source, read=lambda: stored.read().astype(dtype), source_shape=stored.shape, steps=steps,
            role=role, trainable=stored.trainable and not self.frozen,
        )  # fmt: skip
        return self._weight(source, dtype, weight)

    def _weight(self, source: str, dtype: str, weight: Weight) -> Value:
        import numpy as np

        key = (source, weight.steps)
        if key not in self._arranged:
            shape = weight.source_shape
            for step in weight.steps:
                shape = step(np.broadcast_to(np.zeros(()), shape)).shape
            value = self.weight(source, dtype, weight, tuple(shape))
            value.static = None
            self._arranged[key] = value
        return self._arranged[key]

    # ---- layout

    def axis(self, axis: int, rank: int) -> int:
        """Where an axis of the Keras tensor is in the value that the handler was given."""
        axis %= rank
        if not self.first or axis == 0:
            return axis
        return 1 if axis == rank - 1 else axis + 1

    def to_first(self, laid: Laid) -> Laid:
        """With the channels after the batch; a vector per sample is as it is."""
        laid = self.unflattened(laid)
        return laid if laid.first or laid.value.rank < 3 else self._move(laid)

    def to_keras(self, laid: Laid) -> Laid:
        """As Keras has it."""
        laid = self.unflattened(laid)
        return self._move(laid) if laid.first else laid

    def unflattened(self, laid: Laid) -> Laid:
        """A flattened tensor in Keras's order of elements."""
        if laid.flat is None:
            return laid
        *spatial, channels = laid.flat
        whole = self.reshape(laid.value, (-1, channels, *spatial))
        last = self.permute(whole, (0, *range(2, whole.rank), 1))
        return Laid(self.flatten(last, 1))

    def _move(self, laid: Laid) -> Laid:
        key = (laid.value, laid.first)
        if key not in self._moved:
            rank = laid.value.rank
            order = (0, *range(2, rank), 1) if laid.first else (0, rank - 1, *range(1, rank - 1))
            self._moved[key] = Laid(self.permute(laid.value, order), not laid.first)
            self._moved[self._moved[key].value, not laid.first] = laid
        return self._moved[key]


def _tensors(arg: Any) -> list[Value]:
    from migrate.graph.ir import tensors_in

    return list(tensors_in(arg))


def unsupported_unless(condition: bool, reason: str) -> None:
    """Refuse a form of a layer.

    Raises:
        Unsupported: the condition does not hold.
    """
    if not condition:
        raise Unsupported(reason)
