"""Running a source whose batch is fixed on another batch, part by part. Knows arrays and axes, no engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from migrate.graph.batch import follows
from migrate.graph.ir import Graph

Array = np.ndarray[Any, np.dtype[Any]]


def output_axes(graph: Graph) -> list[int | None]:
    """For each output the axis that follows the batch, or None."""
    batch = graph.batch
    if batch is None:
        return [None] * len(graph.outputs)
    return [next((i for i, s in enumerate(v.shape) if follows(s, batch)), None) for v in graph.outputs]


def input_axes(graph: Graph) -> list[int | None]:
    """For each input the axis that is the batch, or None."""
    if graph.batch is None:
        return [None] * len(graph.inputs)
    return [
        graph.batch_axes.get(v.name, next((i for i, s in enumerate(v.shape) if s == graph.batch), None))
        for v in graph.inputs
    ]


def part(array: Array, axis: int | None, start: int, count: int) -> Array:
    """Samples `start` to `start + count`; where there are too few, the last is repeated."""
    if axis is None:
        return array
    order = np.minimum(np.arange(start, start + count), array.shape[axis] - 1)
    return np.ascontiguousarray(np.take(array, order, axis=axis))


def joined(parts: list[Array], axis: int | None, total: int, chunk: int) -> Array:
    """The first `total` samples of all parts; an output that does not follow the batch is taken from the first part."""
    if axis is None or parts[0].ndim <= axis:
        return parts[0]
    whole = np.concatenate(parts, axis=axis)
    rows = parts[0].shape[axis] * total // chunk
    return np.ascontiguousarray(whole[(slice(None),) * axis + (slice(0, rows),)])
