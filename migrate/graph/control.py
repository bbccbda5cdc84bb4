"""Making control flow: a branch on a condition, and a loop. What can be decided while the graph is built needs neither.

    if_(condition)                             blocks: on true, on false; no inputs; what they give is what the node gives
    loop(trip_count, condition, carried, scanned, dims, out_dims)
                                               block: (index, *carried, *scanned) -> ([condition], *carried, *stacked)

A loop runs while `condition` holds and at most `trip_count` times; either may be None. It goes along axis `dims[k]` of
`scanned[k]`, and what it gives beside the carried values is stacked along a new axis `out_dims[k]`. Its block gives a
condition if and only if it has one. Shapes must not change from branch to branch or from one iteration to the next.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from migrate.graph.builder import Builder
from migrate.graph.infer import InferenceError, samples_of
from migrate.graph.ir import Block, ByMode, Value
from migrate.graph.ops import get_op
from migrate.graph.sizes import NUM_SAMPLES, Size, at, equal

Count = Size | Value | None


def if_(b: Builder, condition: Value | ByMode, on_true: Block, on_false: Block) -> tuple[Value, ...]:
    """A branch on a condition of one element that is known at run time only, or on the mode.

    Raises:
        InferenceError: the branches give tensors of different types or sizes.
    """
    for left, right in zip(on_true.outputs, on_false.outputs, strict=True):
        if not _alike(left, right):
            raise InferenceError(f"the branches give {left} and {right}, but what follows has to know the shape")
    results = _transposed([samples_of(value) for value in on_true.outputs])
    return b.add_node(get_op("if_"), (_condition(b, condition),), {}, results, (on_true, on_false))


def _condition(b: Builder, condition: Value | ByMode) -> Value | ByMode:
    return b.tensor(condition) if isinstance(condition, Value) else condition


@contextmanager
def loop_body(
    b: Builder, carried: Sequence[Value], scanned: Sequence[Value] = (), dims: Sequence[int] = ()
) -> Generator[Block]:
    """The block of a loop: it is given the index (int64, rank 0), the carried values, and a part of each scanned one."""
    parts = [(v.name, v.dtype, _without(v.shape, dim)) for v, dim in zip(scanned, dims, strict=True)]
    with b.block(("index", "int64", ()), *((v.name, v.dtype, v.shape) for v in carried), *parts) as block:
        yield block


def loop(
    b: Builder,
    body: Block,
    *,
    trip_count: Count,
    condition: Value | bool | None,
    carried: Sequence[Value],
    scanned: Sequence[Value] = (),
    dims: Sequence[int] = (),
    out_dims: Sequence[int] = (),
) -> tuple[Value, ...]:
    """A loop over a block that `loop_body` opened; gives the last carried values, and the stacked ones.

    Raises:
        InferenceError: a carried value changes its type or size, or it is not known how many parts are stacked.
    """
    start = 0 if condition is None else 1
    given = body.outputs[start : start + len(carried)]
    for before, after in zip(carried, given, strict=True):
        if not _alike(before, after):
            raise InferenceError(f"an iteration turns {before} into {after}, but the shape must stay")
    stacked = body.outputs[start + len(carried) :]
    length = next((v.shape[dim] for v, dim in zip(scanned, dims, strict=True)), trip_count)
    if stacked and (condition is not None or length is None or isinstance(length, Value)):
        raise InferenceError("how many parts a loop stacks depends on the data")
    results = [samples_of(value) for value in carried]
    results += [_stacked(value, length, dim) for value, dim in zip(stacked, out_dims, strict=True)]
    args = (
        b.tensor(trip_count) if isinstance(trip_count, Value) else trip_count,
        b.tensor(condition) if isinstance(condition, Value) else condition,
        tuple(b.tensor(value) for value in carried),
        tuple(scanned),
    )
    return b.add_node(
        get_op("loop"), args, {"dims": tuple(dims), "out_dims": tuple(out_dims)}, _transposed(results), (body,)
    )


def _alike(left: Value, right: Value) -> bool:
    return (
        left.dtype == right.dtype
        and left.rank == right.rank
        and all(equal(s, t) for s, t in zip(left.shape, right.shape, strict=True))
    )


def _without(shape: tuple[Size, ...], dim: int) -> tuple[Size, ...]:
    dim %= len(shape)
    return (*shape[:dim], *shape[dim + 1 :])


def _stacked(value: Value, length: Any, dim: int) -> list[Any]:
    """The meta tensors of as many parts as the loop has iterations, stacked."""
    parts = samples_of(value)
    return [part.unsqueeze(dim).repeat_interleave(at(length, k), dim) for k, part in enumerate(parts)]


def _transposed(outputs: list[list[Any]]) -> list[list[Any]]:
    return [[samples[k] for samples in outputs] for k in range(NUM_SAMPLES)]
