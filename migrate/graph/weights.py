"""Tensors that come with the model: where each is in the source, how it is rearranged, and what it is for.

A rearrangement (permute, reshape, slice, reorder) moves elements and changes none, so it can be undone: `scatter` writes
a target tensor back into the layout of its source. Knows numpy, no file format and no tensor library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

Role = Literal["unknown", "parameter", "buffer"]
Maker = Literal["unknown", "module", "exporter"]
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Step:
    """One rearrangement: `permute` (axes), `reshape` (shape), `slice` (axis, start, stop), `take` (axis, order)."""

    kind: Literal["permute", "reshape", "slice", "take"]
    args: tuple[Any, ...]

    def __call__(self, array: Array) -> Array:
        """The rearranged array."""
        match self.kind:
            case "permute":
                return array.transpose(self.args)
            case "reshape":
                return array.reshape(self.args)
            case "slice":
                axis, start, stop = self.args
                return array[(slice(None),) * axis + (slice(start, stop),)]
            case "take":
                axis, order = self.args
                return np.take(array, order, axis=axis)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """A tensor of the source: `read` gives it as stored (memory-mapped where possible), `steps` lead to the wanted layout.

    Weights of one source that differ in `copy` are tensors of their own, to be trained apart. `maker` says, where the source
    tells, whether a module has it as an attribute of its own or the exporter wrote it down on its way. `homes` are the names
    under which the source's own modules hold it, more than one where it is tied: its role is theirs to say, it stays a
    tensor of its own in its layout, and it keeps these names. One that is not `persistent` is in no state_dict. `grid` is
    what the model rounds it to before it is used, in the source's layout.
    """

    source: str
    read: Callable[[], Array]
    source_shape: tuple[int, ...]
    steps: tuple[Step, ...] = ()
    role: Role = "unknown"
    trainable: bool = True
    kind: str = ""
    copy: int = 0
    maker: Maker = "unknown"
    homes: tuple[str, ...] = ()
    persistent: bool = True
    grid: Callable[[Array], Array] | None = None

    def array(self) -> Array:
        """The tensor in the target's layout."""
        return rearrange(self.read(), self.steps)

    def then(self, step: Step) -> Weight:
        """The same tensor after one more rearrangement; a permutation that undoes the last one vanishes."""
        if not self.steps:
            return replace(self, steps=(step,))
        last = self.steps[-1]
        if last.kind == step.kind == "permute":
            order = tuple(last.args[axis] for axis in step.args)
            rest = self.steps[:-1]
            return replace(self, steps=rest if order == tuple(sorted(order)) else (*rest, Step("permute", order)))
        if last.kind == step.kind == "reshape":
            return replace(self, steps=(*self.steps[:-1], step))
        return replace(self, steps=(*self.steps, step))


def rearrange(array: Array, steps: tuple[Step, ...]) -> Array:
    """Apply the steps in order."""
    for step in steps:
        array = step(array)
    return array


def scatter(source: Array, target: Array, steps: tuple[Step, ...]) -> None:
    """Write `target` back into `source`, in place: the inverse of `rearrange`. Elements that no step reaches stay."""
    place = rearrange(np.arange(source.size).reshape(source.shape), steps)
    source.reshape(-1)[place.reshape(-1)] = target.reshape(-1)
