"""What handlers work with: a `Builder` that knows where the channels of each tensor are, and what is known of it.

A tensor of images has its channels last in TensorFlow, and is kept with them after the batch from the first operator that
wants it so; `Laid` says which of the two a value is. Knows no operator by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from migrate.frontends.tensorflow.registry import Unsupported
from migrate.frontends.tensorflow.variables import Variable
from migrate.graph import Builder, Size, Step, Value, Weight
from migrate.graph.interpret import content_of
from migrate.graph.ir import tensors_in
from migrate.graph.ops import Op


@dataclass(eq=False, slots=True)
class Laid:
    """A tensor as a value of the graph.

    `first`: its last axis is the second of the value. `flat`: its last axis holds the elements of this shape (channels
    last), which the value has with the channels first.
    """

    value: Value
    first: bool = False
    flat: tuple[int, ...] | None = None

    @property
    def rank(self) -> int:
        """The number of axes."""
        return self.value.rank

    @property
    def shape(self) -> tuple[Size, ...]:
        """The sizes in TensorFlow's order."""
        sizes = self.value.shape
        return (sizes[0], *sizes[2:], sizes[1]) if self.first else sizes

    def axis(self, axis: int) -> int:
        """Where an axis of TensorFlow's is in the value."""
        axis %= self.rank
        if not self.first or axis == 0:
            return axis
        return 1 if axis == self.rank - 1 else axis + 1


@dataclass(frozen=True, slots=True)
class Handle:
    """What stands for a variable until it is read."""

    variable: Variable


DEAD = object()
"""What a branch that is not taken gives."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A list of tensors; None for a part that is not there yet."""

    items: tuple[Laid | None, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Series:
    """A list of as many tensors as an axis of free size is long: the parts of a tensor, or what a loop has yet to make."""

    value: Value | None
    length: Size
    dtype: str


@dataclass(frozen=True, slots=True)
class AtStep:
    """A series as one iteration of a loop sees it: the part that is read, or that it makes, at the iteration's own place."""

    index: Value
    part: Laid | None


class TensorflowBuilder(Builder):
    """A `Builder` with what TensorFlow handlers ask for."""

    subgraphs: Callable[..., list[Any]]
    bodies: Callable[..., tuple[list[Any], list[str], list[str]]]

    def __init__(self, name: str, momenta: dict[str, float], rates: dict[str, float]) -> None:
        super().__init__(name)
        self.momenta, self.rates = momenta, rates
        self.first = False
        self.trains_constants = False
        self.name = self.op_type = ""
        self._arranged: dict[Any, Value] = {}
        self._moved: dict[tuple[Value, bool], Laid] = {}

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that learns is in the layer's own scope; what goes with it (an activation, padding) is beside it."""
        scope = self.scope
        if scope and op.learns and any(v.weight is not None for v in tensors_in((args, kwargs))):
            return super().call(op, args, kwargs)
        self.scope = scope[:-1]
        try:
            return super().call(op, args, kwargs)
        finally:
            self.scope = scope

    def inline(self, function: str, inputs: Sequence[Any]) -> list[Any]:
        """What a function gives for these inputs; its nodes are added here."""
        return self.subgraphs(function, inputs)

    # ---- what is known

    def numbers(self, item: Laid | Value) -> list[Any]:
        """The content of a tensor that must be known, in TensorFlow's order: numbers and sizes.

        Raises:
            Unsupported: it is computed from the data.
        """
        value = self.to_source(item).value if isinstance(item, Laid) else item
        if value.static is not None:
            return value.static.reshape(-1).tolist()
        array = value.weight.array() if value.weight is not None and not value.weight.trainable else content_of(value)
        if array is None:
            raise Unsupported(f"{value.name!r} must be a constant or a size here, and is computed from the data")
        return array.reshape(-1).tolist()

    def number(self, item: Laid | Value) -> Any:
        """The only element of a known tensor."""
        (found,) = self.numbers(item)
        return found

    # ---- tensors of the source

    def variable(self, variable: Variable) -> Value:
        """A variable; the same wherever it is read."""
        from migrate.frontends.tensorflow.tensors import HALF

        if variable.name not in self._arranged:
            dtype = HALF.get(variable.stored.dtype, variable.stored.dtype)
            maker: Any = "module" if variable.trainable else "unknown"
            weight = Weight(
                source=variable.name, read=variable.stored.read, source_shape=variable.stored.shape,
                trainable=variable.trainable, maker=maker,
            )  # fmt: skip
            value = self.weight(variable.name, dtype, weight, variable.stored.shape)
            if variable.trainable:
                value.static = None
            self._arranged[variable.name] = value
        return self._arranged[variable.name]

    def constant(self, name: str, array: np.ndarray[Any, Any]) -> Value:
        """A constant; of a graph without variables it may be what was trained, else it is none of the model's weights."""
        source = name if self.trains_constants else ""
        weight = Weight(source=source, read=lambda: array, source_shape=array.shape, trainable=self.trains_constants)
        return self.weight(name, str(array.dtype), weight, array.shape)

    # ---- layout

    def to_first(self, laid: Laid) -> Laid:
        """With the channels after the batch; a vector per sample is as it is."""
        laid = self.unflattened(laid)
        return laid if laid.first or laid.rank < 3 else self._move(laid)

    def to_source(self, laid: Laid) -> Laid:
        """As TensorFlow has it."""
        laid = self.unflattened(laid)
        return self._move(laid) if laid.first else laid

    def unflattened(self, laid: Laid) -> Laid:
        """A flattened tensor in TensorFlow's order of elements."""
        if laid.flat is None:
            return laid
        *spatial, channels = laid.flat
        whole = self.reshape(laid.value, (-1, channels, *spatial))
        last = self.permute(whole, (0, *range(2, whole.rank), 1))
        return Laid(self.flatten(last, 1))

    def _move(self, laid: Laid) -> Laid:
        key = (laid.value, laid.first)
        if key not in self._moved or self._depth:
            rank = laid.rank
            order = (0, *range(2, rank), 1) if laid.first else (0, rank - 1, *range(1, rank - 1))
            made = Laid(self.permute(laid.value, order), not laid.first)
            if self._depth:  # what a block makes is seen in it alone
                return made
            self._moved[key] = made
            self._moved[made.value, made.first] = laid
        return self._moved[key]

    def alike(self, given: Sequence[Laid]) -> tuple[list[Value], bool, tuple[int, ...] | None]:
        """Tensors that are combined element by element, in one layout: the values, and which it is."""
        flats = {laid.flat for laid in given if laid.rank}
        if len(flats) == 1 and (flat := next(iter(flats))) is not None:
            return [laid.value for laid in given], False, flat
        given = [self.unflattened(laid) for laid in given]
        rank = max((laid.rank for laid in given), default=0)
        whole = [laid for laid in given if laid.rank == rank and laid.value.weight is None]
        if any(laid.first for laid in whole) and (self._at_hand(whole, True) or not self._at_hand(whole, False)):
            return [self._raised(laid, rank) for laid in given], True, None
        return [self.to_source(laid).value for laid in given], False, None

    def _at_hand(self, given: Sequence[Laid], first: bool) -> bool:
        """Whether all of these are in that layout, or were turned to it before."""
        return all(laid.first == first or (laid.value, laid.first) in self._moved for laid in given)

    def _raised(self, laid: Laid, rank: int) -> Value:
        """With the channels second of `rank` axes, fewer where the first ones are of size 1."""
        if laid.rank == 0:
            return laid.value
        if laid.rank == rank:
            return self.to_first(laid).value
        value = self.to_source(laid).value
        if value.rank == 1:
            return self.reshape(value, (value.shape[0], *[1] * (rank - 2)))
        whole = self.reshape(value, (*[1] * (rank - value.rank), *value.shape))
        return self.permute(whole, (0, rank - 1, *range(1, rank - 1)))

    def axis(self, axis: int, rank: int) -> int:
        """Where an axis of the source is in the values that an `any` handler was given."""
        axis %= rank
        if not self.first or axis == 0:
            return axis
        return 1 if axis == rank - 1 else axis + 1

    def turned(self, kernel: Value, *order: int) -> Value:
        """A kernel with its axes in another order."""
        return self.permute(kernel, order)


def kernel_step(rank: int) -> Step:
    """From (*kernel, in, out) to (out, in, *kernel)."""
    return Step("permute", (rank + 1, rank, *range(rank)))


def needs(condition: Any, reason: str, todo: str = "") -> None:
    """Refuse a form of an operator.

    Raises:
        Unsupported: the condition does not hold.
    """
    if not condition:
        raise Unsupported(reason, todo)
