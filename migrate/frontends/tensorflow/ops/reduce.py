"""Reductions and scans along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from migrate.frontends.tensorflow.builder import Laid, TensorflowBuilder, needs
from migrate.frontends.tensorflow.registry import tf_op
from migrate.graph import Value

REDUCTIONS = {"Mean": "mean", "Sum": "sum", "Max": "amax", "Min": "amin", "EuclideanNorm": "vector_norm"}


def reduced(
    b: TensorflowBuilder, x: Laid, axes: tuple[int, ...], keep: bool, run: Callable[[Value, tuple[int, ...]], Value]
) -> Any:
    """Over these axes of TensorFlow's; in the layout that the tensor has, where the rest is in order then."""
    rest = [axis for axis in range(x.rank) if axis not in axes]
    channels = x.rank - 1
    in_order = (
        keep or channels not in rest or rest == [channels] or (rest[0] == 0 and len(rest) > 2) or rest == [0, channels]
    )
    over_channels = axes == (channels,) and keep  # as a normalisation of each place does, over the last axis
    if x.first and (over_channels or not in_order):
        x = b.to_source(x)
    made = run(x.value, tuple(sorted(x.axis(axis) for axis in axes)))
    return Laid(made, x.first and made.rank > 2 and (keep or channels in rest))


def axes_of(b: TensorflowBuilder, x: Laid, axis: Laid) -> tuple[int, ...]:
    """Axes as numbers from 0 on."""
    return tuple(sorted({int(a) % max(x.rank, 1) for a in b.numbers(axis)}))


def _reduction(name: str) -> Callable[..., Any]:
    def handler(b: TensorflowBuilder, input: Laid, axis: Laid, *, keep_dims: bool = False) -> Any:
        x = b.unflattened(input)
        axes = axes_of(b, x, axis)
        if not axes:
            return input
        extra: dict[str, Any] = {"keepdim": True} if keep_dims else {}

        def run(value: Value, dims: tuple[int, ...]) -> Value:
            given = (2, dims) if name == "vector_norm" else (dims,)
            made = getattr(b, name)(value, *given, **extra)
            return made if made.dtype == value.dtype else b.cast(made, f"torch.{value.dtype}")

        return reduced(b, x, axes, keep_dims, run)

    return handler


for _tf, _name in REDUCTIONS.items():
    tf_op(_tf, layout="laid")(_reduction(_name))


@tf_op("Prod", "All", "Any")
def tf_prod(b: TensorflowBuilder, input: Value, axis: Value, *, keep_dims: bool = False) -> Value:
    """One axis after another, the last first; the product of known sizes is a size."""
    axes = sorted({int(a) % max(input.rank, 1) for a in b.numbers(axis)}, reverse=True)
    if input.static is not None and input.rank == 1 and axes == [0] and not keep_dims and input.dtype != "bool":
        made = b.prod(input)
        return made if made.static is None else b.static(made.static, input.dtype)
    op = {"Prod": b.prod}.get(b.op_type, b.all if b.op_type == "All" else b.any)
    for dim in axes:
        input = op(input, dim, keepdim=True) if keep_dims else op(input, dim)
    return input


@tf_op("ArgMax", "ArgMin")
def tf_arg_max(b: TensorflowBuilder, input: Value, dimension: Value, *, output_type: str = "int64") -> Value:
    """The place of the largest or smallest element."""
    op = b.argmax if b.op_type == "ArgMax" else b.argmin
    made = op(input, int(b.number(dimension)))
    return made if output_type == "int64" else b.cast(made, f"torch.{output_type}")


@tf_op("Cumsum", "Cumprod")
def tf_cumsum(b: TensorflowBuilder, x: Value, axis: Value, *, exclusive: bool = False, reverse: bool = False) -> Value:
    """Running sums or products along an axis."""
    needs(not exclusive or b.op_type == "Cumsum", "an exclusive running product")
    dim = int(b.number(axis)) % x.rank
    run = b.cumsum if b.op_type == "Cumsum" else b.cumprod
    turned = b.flip(x, (dim,)) if reverse else x
    made = run(turned, dim)
    made = b.sub(made, turned) if exclusive else made
    return b.flip(made, (dim,)) if reverse else made


@tf_op("SegmentSum", "UnsortedSegmentSum")
def tf_segment_sum(b: TensorflowBuilder, data: Value, segment_ids: Value, num_segments: Value | None = None) -> Value:
    """Rows of one number are added up."""
    needs(num_segments is not None and segment_ids.rank == 1, "segments whose number depends on the data")
    count = b.number(num_segments)  # pyright: ignore[reportArgumentType]
    zeros = b.new_zeros(data, (count, *data.shape[1:]))
    return b.index_add(zeros, 0, segment_ids, data)
