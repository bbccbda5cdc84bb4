"""Reductions and scans. Axes were an attribute, and became an input at 13 (ReduceSum) or 18 (the others)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value

Reduce = Callable[[OnnxBuilder, Value, tuple[int, ...], bool], Value]
INTEGERS = ("int8", "int16", "int32", "uint8")


def reduced(b: OnnxBuilder, reduce: Reduce, data: Value, axes: Any, keepdims: int, noop: int = 0) -> Value:
    """All axes where none is given, unless that is to do nothing."""
    if not axes and noop:
        return reduce(b, b.unsqueeze(data, 0), (0,), False)  # the element-wise part still applies
    dims = tuple(sorted(int(axis) % max(data.rank, 1) for axis in axes)) if axes else tuple(range(data.rank))
    return reduce(b, data, dims, bool(keepdims))


def reduction(name: str, reduce: Reduce, since_input: int = 18) -> None:
    """Register a reduction in both forms."""

    @onnx_op(name, since=since_input)
    def onnx_reduction(
        b: OnnxBuilder, data: Value, axes: Value | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Value:
        return reduced(b, reduce, data, b.numbers(axes) if axes is not None else (), keepdims, noop_with_empty_axes)

    @onnx_op(name, since=1)
    def onnx_reduction_1(b: OnnxBuilder, data: Value, *, axes: Any = None, keepdims: int = 1) -> Value:
        return reduced(b, reduce, data, axes, keepdims)


def reduce_sum(b: OnnxBuilder, x: Value, dims: tuple[int, ...], keepdim: bool) -> Value:
    """Short integers stay short, which torch's sum does not do by itself."""
    extra = {"dtype": f"torch.{x.dtype}"} if x.dtype in INTEGERS else {}
    return b.sum(x, dims, keepdim=keepdim, **extra)


def reduce_mean(b: OnnxBuilder, x: Value, dims: tuple[int, ...], keepdim: bool) -> Value:
    """Floats only: the mean of integers rounds."""
    if not x.is_float:
        raise Unsupported("the mean of integers")
    return b.mean(x, dims, keepdim=keepdim)


def reduce_prod(b: OnnxBuilder, x: Value, dims: tuple[int, ...], keepdim: bool) -> Value:
    """One axis after the other; known sizes are multiplied at once."""
    if x.static is not None and len(dims) == x.rank:
        return b.prod(x, None, keepdim=keepdim)
    extra = {"dtype": f"torch.{x.dtype}"} if x.dtype in INTEGERS else {}
    for dim in reversed(dims):
        x = b.prod(x, dim, keepdim=keepdim, **extra)
    return x


def empty(x: Value, dims: tuple[int, ...]) -> bool:
    """Whether there is nothing to reduce."""
    return any(x.shape[dim] == 0 for dim in dims)


def extreme_of_none(b: OnnxBuilder, x: Value, dims: tuple[int, ...], keepdim: bool, side: str) -> Value:
    """The number that leaves every other one standing, in the shape of the reduction."""
    shape = tuple(1 if i in dims else size for i, size in enumerate(x.shape) if keepdim or i not in dims)
    if x.is_float:
        filler: float | bool = -math.inf if side == "min" else math.inf
    else:
        filler = side == "max" if x.dtype == "bool" else int(getattr(np.iinfo(x.dtype), side))
    return b.full(shape, filler, dtype=f"torch.{x.dtype}")


def reduce_max(b: OnnxBuilder, x: Value, dims: tuple[int, ...], keepdim: bool) -> Value:
    """Ties share the gradient; of no elements at all it is the smallest number."""
    return extreme_of_none(b, x, dims, keepdim, "min") if empty(x, dims) else b.amax(x, dims, keepdim=keepdim)


def reduce_min(b: OnnxBuilder, x: Value, dims: tuple[int, ...], keepdim: bool) -> Value:
    """Ties share the gradient; of no elements at all it is the largest number."""
    return extreme_of_none(b, x, dims, keepdim, "max") if empty(x, dims) else b.amin(x, dims, keepdim=keepdim)


def reduce_l1(b: OnnxBuilder, x: Value, dims: tuple[int, ...], keepdim: bool) -> Value:
    """The sum of absolute values."""
    return reduce_sum(b, b.abs(x), dims, keepdim)


def reduce_l2(b: OnnxBuilder, x: Value, dims: tuple[int, ...], keepdim: bool) -> Value:
    """The Euclidean norm, whose gradient at zero is zero."""
    if not x.is_float:
        raise Unsupported("the norm of integers")
    return b.vector_norm(x, 2, dims, keepdim=keepdim)


def reduce_sum_square(b: OnnxBuilder, x: Value, dims: tuple[int, ...], keepdim: bool) -> Value:
    """The sum of squares."""
    return reduce_sum(b, b.square(x), dims, keepdim)


def reduce_log_sum(b: OnnxBuilder, x: Value, dims: tuple[int, ...], keepdim: bool) -> Value:
    """The logarithm of the sum."""
    return b.log(reduce_sum(b, x, dims, keepdim))


def reduce_log_sum_exp(b: OnnxBuilder, x: Value, dims: tuple[int, ...], keepdim: bool) -> Value:
    """Computed without overflow."""
    return b.logsumexp(x, dims, keepdim=keepdim)


reduction("ReduceSum", reduce_sum, since_input=13)
reduction("ReduceMean", reduce_mean)
reduction("ReduceProd", reduce_prod)
reduction("ReduceMax", reduce_max)
reduction("ReduceMin", reduce_min)
reduction("ReduceL1", reduce_l1)
reduction("ReduceL2", reduce_l2)
reduction("ReduceSumSquare", reduce_sum_square)
reduction("ReduceLogSum", reduce_log_sum)
reduction("ReduceLogSumExp", reduce_log_sum_exp)


def arg_extreme(name: str, op: str) -> None:
    """Register ArgMax or ArgMin; of equal elements the first, or the last where `select_last_index` is set."""

    @onnx_op(name)
    def onnx_arg_extreme(
        b: OnnxBuilder, data: Value, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0
    ) -> Value:
        if not select_last_index:
            return getattr(b, op)(data, axis, keepdim=bool(keepdims))
        found = getattr(b, op)(b.flip(data, (axis,)), axis, keepdim=bool(keepdims))
        return b.sub(data.shape[axis] - 1, found)


arg_extreme("ArgMax", "argmax")
arg_extreme("ArgMin", "argmin")


def scan(b: OnnxBuilder, x: Value, axis: Value, exclusive: int, reverse: int, op: str, neutral: float) -> Value:
    """A running sum or product; `exclusive` shifts it by one element, `reverse` runs it from the end."""
    dim = int(b.number(axis)) % x.rank
    x = b.flip(x, (dim,)) if reverse else x
    if exclusive:
        around = (0, 0) * (x.rank - 1 - dim) + (1, -1)
        x = b.pad(x, around, value=neutral)
    extra = {"dtype": f"torch.{x.dtype}"} if x.dtype in INTEGERS else {}
    x = getattr(b, op)(x, dim, **extra)
    return b.flip(x, (dim,)) if reverse else x


@onnx_op("CumSum", since=11)
def onnx_cumsum(b: OnnxBuilder, x: Value, axis: Value, *, exclusive: int = 0, reverse: int = 0) -> Value:
    """A running sum."""
    return scan(b, x, axis, exclusive, reverse, "cumsum", 0)


@onnx_op("CumProd", since=26)
def onnx_cumprod(b: OnnxBuilder, x: Value, axis: Value, *, exclusive: int = 0, reverse: int = 0) -> Value:
    """A running product."""
    return scan(b, x, axis, exclusive, reverse, "cumprod", 1)
