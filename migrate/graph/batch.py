"""Keeping the batch free where the source has written a number for it.

Exporters bake the batch of their example into Reshape targets and initial states. Where a reading keeps the element count
at every sampled size, the number becomes the batch again; where none does, inference fails at that place and it is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from migrate.errors import Diagnostic, Exit, MigrateError
from migrate.graph.builder import Builder
from migrate.graph.ir import Graph, Value
from migrate.graph.sizes import NUM_SAMPLES as K
from migrate.graph.sizes import Dim, Size, at, equal, numel
from migrate.graph.weights import Step


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
    place = _place_of_batch(x, batch)
    if fits(x, target) and not _written_out(target, place, declared):
        return target
    for axis in sorted(range(len(target)), key=lambda k: _unlikeliness(target, k, place, declared)):
        size = target[axis]
        if not isinstance(size, int) or size <= 0 or size % declared:
            continue
        free: list[Size] = [*target[:axis], batch * (size // declared), *target[axis + 1 :]]
        if fits(x, free):
            b.note(_freed(b, axis, size))
            return free
    return target


def _place_of_batch(x: Value, batch: Size) -> tuple[Size, Size]:
    """How many places lie before the axis that follows the batch, and how many with what that axis holds beside it."""
    axis = next(i for i, size in enumerate(x.shape) if _scales(size, batch))
    before = numel(x.shape[:axis])
    return before, before * (x.shape[axis] // batch)


def _written_out(target: list[Size], place: tuple[Size, Size], declared: int) -> bool:
    """Whether beside a -1, which fits any batch, a number stands for the batch at its very place."""
    if -1 not in target:
        return False
    return any(_unlikeliness(target, axis, place, declared) == 0 for axis in range(target.index(-1)))


def _unlikeliness(target: list[Size], axis: int, place: tuple[Size, Size], declared: int) -> int:
    """How badly an axis suits the batch: a reshape keeps the order of elements, so as many places stay before the batch."""
    if -1 in target[:axis]:
        return 4
    first, last = place
    before = numel(target[:axis])
    at_end = axis == len(target) - 1
    if _is(target[axis], declared) and _divides(first, before) and _divides(before, last):
        return 0
    if equal(before, first):
        return 3 if at_end else 1
    inside = _divides(before, first) and _divides(first, before * target[axis])
    return 2 if inside and not at_end else 4


def _divides(part: Size, whole: Size) -> bool:
    return all(at(part, k) and at(whole, k) % at(part, k) == 0 for k in range(K))


def expand_to_batch(b: Builder, x: Value, axis: int, size: Size) -> Value:
    """`x` with its axis of length 1 repeated to `size`; unchanged where it has that size or cannot be repeated."""
    if equal(x.shape[axis], size) or x.shape[axis] != 1:
        return x
    shape: list[Any] = [-1] * x.rank
    shape[axis] = size
    return b.expand(x, tuple(shape))


def repeated(b: Builder, x: Value, target: Sequence[Size]) -> list[Size]:
    """The shape to which a single row is repeated, with the number that stands for the batch replaced by the batch.

    A number may be the batch by chance: this is for a second reading, after the first has led to shapes that do not fit.
    """
    shape, batch = list(target), b.graph.batch
    if batch is None or not b.frees_repeats or x.rank != len(shape) or any(_scales(s, batch) for s in shape):
        return shape
    axes = [k for k, size in enumerate(shape) if x.shape[k] == 1 and _is(size, b.declared_batch)]
    if axes and (b.declared_batch > 1 or axes[0] == 0):
        shape[axes[0]] = batch
    return shape


def freed(b: Builder, value: Value, axis: int) -> Value:
    """`value` with an axis on which it does not vary, and whose length is that of the baked batch, as long as the batch."""
    batch, node = b.graph.batch, value.node
    if batch is None or axis >= value.rank or not _is(value.shape[axis], b.declared_batch):
        return value
    if node is not None and node.op.name == "full":
        shape = (*value.shape[:axis], batch, *value.shape[axis + 1 :])
        return b.full(shape, *node.args[1:], **node.kwargs)
    row = _row(b, value, axis)
    return value if row is None else expand_to_batch(b, row, axis, batch)


def _row(b: Builder, value: Value, axis: int) -> Value | None:
    """What was repeated along the axis; None where it is not known to be one row."""
    node = value.node
    if node is not None and node.op.name == "expand" and isinstance(node.args[0], Value):
        source: Value = node.args[0]
        before = axis - (value.rank - source.rank)
        same = [equal(s, t) for s, t in zip(source.shape, value.shape[value.rank - source.rank :], strict=True)]
        if before < 0 or source.shape[before] != 1:
            return None
        if all(k == before or is_same for k, is_same in enumerate(same)) and source.rank == value.rank:
            return source
        kept = (*value.shape[:axis], 1, *value.shape[axis + 1 :])
        return b.expand(source, kept)
    if node is not None and node.op.name == "repeat" and node.args[0].rank == value.rank:
        once = all(equal(n, 1) for k, n in enumerate(node.args[1]) if k != axis)
        return node.args[0] if once and node.args[0].shape[axis] == 1 else None
    if node is None and value.weight is not None:
        array = value.weight.array()
        first = array.take([0], axis)
        if bool((array == first).all()):
            made = value.weight.then(Step("slice", (axis, 0, 1)))
            return b.weight(value.name, value.dtype, made, first.shape)
    return None


def fits(x: Value, target: Sequence[Size]) -> bool:
    """Whether the element counts agree at every sampled size."""
    unknown = [t for t in target if t == -1]
    known = numel([t for t in target if not (isinstance(t, int) and t == -1)])
    total = numel(x.shape)
    if not unknown:
        return equal(known, total)
    return all(at(known, k) and at(total, k) % at(known, k) == 0 for k in range(K))


def check_batch(graph: Graph) -> Graph:
    """Refuse a graph none of whose outputs follows the batch, naming the node at which it is lost; warn where it is a time."""
    batch = graph.batch
    if batch is None:
        return graph
    if any(follows(size, batch) for value in graph.outputs for size in value.shape):
        graph.notes += _sequence(graph, batch)
        return graph
    for node in graph.nodes:
        took = any(follows(size, batch) for value in node.inputs for size in value.shape)
        if took and not any(follows(size, batch) for value in node.outputs for size in value.shape):
            where = ", ".join(node.origin)
            break
    else:
        where = graph.outputs[0].name
    lost = Diagnostic(
        code="MIG302",
        severity="error",
        what="the outputs do not follow the batch",
        where=where,
        why="a batch size is fixed in the source, or the first axis is no batch",
        todo="export the model with a free batch, or give the shapes with --input NAME:SIZES",
    )
    raise MigrateError([lost], Exit.UNSUPPORTED)


def _sequence(graph: Graph, batch: Dim) -> list[Diagnostic]:
    """A warning where a recurrent layer walks along the batch: its rows are then no samples of their own."""
    for node in graph.nodes:
        if node.op.family != "recurrent" or node.op.name.endswith("_cell"):
            continue
        batch_first = node.kwargs.get("batch_first", node.args[-1])
        if follows(node.args[0].shape[1 if batch_first is True else 0], batch):
            return [
                Diagnostic(
                    code="MIG307",
                    severity="warning",
                    what="the rows of a batch are the steps of one sequence",
                    where=", ".join(node.origin),
                    why="a recurrent layer walks along the axis that is taken for the batch",
                    todo="read `batch_size` as the length of the sequence; several processes would cut it, so train in one",
                )
            ]
    return []


def follows(size: Any, batch: Dim) -> bool:
    """Whether a size is a multiple of the batch at every assignment."""
    return isinstance(size, Dim) and all(s % b == 0 for s, b in zip(size.values, batch.values, strict=True))


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
