"""Padding, and cutting or padding to a size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Dim, Value
from migrate.graph.sizes import equal

PAD_MODES = {"reflect": "reflect", "edge": "replicate", "wrap": "circular"}


def pad(
    b: OnnxBuilder, x: Value, pads: Sequence[Any], mode: str, value: Any = 0, axes: Sequence[int] | None = None
) -> Value:
    """Begins, then ends, of the given axes (all where none is given); what `F.pad` cannot say is an index along each axis."""
    dims = [int(a) % x.rank for a in axes] if axes is not None else list(range(x.rank))
    begins: list[Any] = [0] * x.rank
    ends: list[Any] = [0] * x.rank
    for i, dim in enumerate(dims):
        begins[dim], ends[dim] = pads[i], pads[len(dims) + i]
    padded = [i for i in range(x.rank) if not (equal(begins[i], 0) and equal(ends[i], 0))]
    if not padded:
        return x
    around = tuple(size for i in reversed(range(padded[0], x.rank)) for size in (begins[i], ends[i]))
    if mode == "constant":
        return b.pad(x, around, value=value) if value else b.pad(x, around)
    if mode not in PAD_MODES:
        raise Unsupported(f"padding mode {mode!r}")
    known = [size for size in around if isinstance(size, int)]
    if mode == "wrap" and min(known, default=0) < 0 < max(known, default=0):
        raise Unsupported("wrapping round an axis that is cut as well: engines differ in what is wrapped")
    return b.pad(x, around, mode=PAD_MODES[mode]) if _native(x, begins, ends, mode) else b.pad_axes(x, around, mode)


def _native(x: Value, begins: list[Any], ends: list[Any], mode: str) -> bool:
    """Whether `F.pad` takes this: the last one to three axes after one or two others, and no more than there is."""
    inner = x.rank - next(i for i in range(x.rank) if begins[i] or ends[i])
    if inner not in (x.rank - 2, x.rank - 1) or inner > 3 or not x.is_float:
        return False
    limit = {"reflect": -1, "wrap": 0}.get(mode)
    for begin, end, size in zip(begins, ends, x.shape, strict=True):
        if not isinstance(begin, int) or not isinstance(end, int) or min(begin, end) < 0:
            return False
        smallest: Any = min(size.values) if isinstance(size, Dim) else size
        if limit is not None and max(begin, end) > smallest + limit:
            return False
    return True


@onnx_op("Pad", since=11)
def onnx_pad(
    b: OnnxBuilder,
    data: Value,
    pads: Value,
    constant_value: Value | None = None,
    axes: Value | None = None,
    *,
    mode: str = "constant",
) -> Value:
    """Pads are an input; axes came with opset 18."""
    dims = b.numbers(axes) if axes is not None else None
    return pad(b, data, b.numbers(pads), mode, b.number(constant_value, 0), dims)


@onnx_op("Pad", since=2)
def onnx_pad_2(b: OnnxBuilder, data: Value, *, pads: Any, mode: str = "constant", value: float = 0.0) -> Value:
    """Pads are an attribute."""
    return pad(b, data, pads, mode, value)


@onnx_op("Pad", since=1)
def onnx_pad_1(b: OnnxBuilder, data: Value, *, paddings: Any, mode: str = "constant", value: float = 0.0) -> Value:
    """The attribute had another name."""
    return pad(b, data, paddings, mode, value)


@onnx_op("CenterCropPad", since=18)
def onnx_center_crop_pad(b: OnnxBuilder, input_data: Value, shape: Value, *, axes: Any = None) -> Value:
    """Each axis is cut or padded with zeros on both sides; of an odd number the smaller half comes first."""
    index: list[slice] = [slice(None)] * input_data.rank
    pads: list[Any] = [0] * 2 * input_data.rank
    for axis, size in zip(axes or range(input_data.rank), b.numbers(shape), strict=True):
        dim = axis % input_data.rank
        whole: Any = input_data.shape[dim]
        if size < whole:
            index[dim] = slice((whole - size) // 2, (whole - size) // 2 + size)
        elif size > whole:
            pads[dim], pads[input_data.rank + dim] = (size - whole) // 2, (size - whole + 1) // 2
    return pad(b, b.getitem(input_data, tuple(index)), pads, "constant")
