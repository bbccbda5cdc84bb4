"""Keeping the batch free where the source has written a number for it.

Exporters bake the batch of their example into Reshape targets and initial states. Where a reading keeps the element count
at every sampled size, the number becomes the batch again; where none does, inference fails at that place and it is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from migrate.errors import Diagnostic
from migrate.graph.builder import Builder
from migrate.graph.ir import Value
from migrate.graph.sizes import NUM_SAMPLES as K
from migrate.graph.sizes import Size, at, equal, numel


def reshape(b: Builder, x: Value, target: Sequence[Size]) -> Value:
    """`x` in the shape `target` (-1 once at most), with a baked batch freed; written as `flatten` where it is one."""
    shape = free_batch(b, x, list(target))
    if len(shape) == x.rank and all(equal(s, t) for s, t in zip(shape, x.shape, strict=True)):
        return x
    start = _flattened_from(x, shape)
    if start is not None and x.weight is None:
        return b.flatten(x, start)
    return b.reshape(x, tuple(shape))


def free_batch(b: Builder, x: Value, target: list[Size]) -> list[Size]:
    """The target with the number that stands for the batch replaced by the batch, where there is one."""
    batch, declared = b.graph.batch, b.declared_batch
    if batch is None or not x.rank or not target or x.weight is not None:
        return target
    follows = any(_scales(s, batch) for s in x.shape)
    kept = any(not isinstance(t, int) and _scales(t, batch) for t in target)
    if not follows or kept:
        return target
    if fits(x, target) and not (-1 in target and _is(target[0], declared) and x.shape[0] == batch):
        return target
    for axis, size in enumerate(target):
        if not isinstance(size, int) or size <= 0 or size % declared:
            continue
        freed: list[Size] = [*target[:axis], batch * (size // declared), *target[axis + 1 :]]
        if fits(x, freed):
            b.note(_freed(b, axis, size))
            return freed
    return target


def expand_to_batch(b: Builder, x: Value, axis: int, size: Size) -> Value:
    """`x` with its axis of length 1 repeated to `size`; unchanged where it has that size or cannot be repeated."""
    if equal(x.shape[axis], size) or x.shape[axis] != 1:
        return x
    shape: list[Any] = [-1] * x.rank
    shape[axis] = size
    return b.expand(x, tuple(shape))


def fits(x: Value, target: Sequence[Size]) -> bool:
    """Whether the element counts agree at every sampled size."""
    unknown = [t for t in target if t == -1]
    known = numel([t for t in target if not (isinstance(t, int) and t == -1)])
    total = numel(x.shape)
    if not unknown:
        return equal(known, total)
    return all(at(known, k) and at(total, k) % at(known, k) == 0 for k in range(K))


def _scales(size: Any, batch: Size) -> bool:
    return not isinstance(size, int) and all(at(size, k) % at(batch, k) == 0 for k in range(K))


def _is(size: Any, declared: int) -> bool:
    return isinstance(size, int) and size == declared


def _flattened_from(x: Value, shape: list[Size]) -> int | None:
    start = len(shape) - 1
    if not 0 <= start < x.rank - 1 or not all(equal(s, t) for s, t in zip(shape[:-1], x.shape, strict=False)):
        return None
    last = shape[-1]
    return start if last == -1 or equal(last, numel(x.shape[start:])) else None


def _freed(b: Builder, axis: int, size: int) -> Diagnostic:
    return Diagnostic(
        code="MIG301",
        severity="note",
        what=f"axis {axis} of a reshape was the constant {size} and is now the batch",
        where=", ".join(b.origin),
        why="the source was exported with a fixed batch",
    )
