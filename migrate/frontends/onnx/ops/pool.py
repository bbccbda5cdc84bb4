"""Pooling, exact for every padding and rounding: torch's own callables where they say it, else padding written out."""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.ops.conv import is_symmetric, live, refuse_gaps, resolve_pads, spatial_rank, torch_pads
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Size, Value
from migrate.graph.sizes import numel

SMALLEST = {"int8": -128, "uint8": 0}


def reach_beyond(x: Value, pads: list[Size], kernel: Any, strides: Any, dilations: Any) -> list[Size]:
    """What ceil_mode adds at the end of each axis, so that the last window is complete.

    A window counts only if it starts inside the input or the padding before it.
    """
    rank = len(kernel)
    more: list[Size] = []
    for i in range(rank):
        size: Any = x.shape[2 + i]
        reach = (kernel[i] - 1) * dilations[i] + 1
        total: Any = size + pads[i] + pads[rank + i]
        out = (total - reach + strides[i] - 1) // strides[i] + 1
        out = live("min", out, (size + pads[i] - 1) // strides[i] + 1)
        more.append(live("-", (out - 1) * strides[i] + reach, total))
    return [*[0] * rank, *more]


def pads_of(x: Value, auto_pad: str, pads: Any, kernel: Any, strides: Any, dilations: Any) -> list[Any]:
    """Padding in numbers or sizes.

    Raises:
        Unsupported: SAME around dilated windows, which ONNX Runtime computes as if they were not dilated; SAME around windows
            that leave gaps of two and more.
    """
    if auto_pad.startswith("SAME"):
        refuse_gaps(auto_pad, kernel, strides, at_most=1)
    if auto_pad.startswith("SAME") and set(dilations) != {1}:
        raise Unsupported(f"{auto_pad} padding of dilated pooling: engines differ from the specification")
    return resolve_pads(x, len(kernel), auto_pad, pads, kernel, strides, dilations)


def small(pads: list[Size], kernel: Any) -> bool:
    """Whether torch's pooling takes this padding: at most half a window, the same on both sides."""
    return is_symmetric(pads) and all(2 * int(p) <= k for p, k in zip(pads, kernel, strict=False))  # pyright: ignore[reportArgumentType]


@onnx_op("MaxPool")
def onnx_max_pool(
    b: OnnxBuilder,
    X: Value,
    *,
    kernel_shape: Any,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Any = None,
    pads: Any = None,
    storage_order: int = 0,
    strides: Any = None,
) -> Any:
    """Padding that torch's pooling does not take is written out as minus infinity."""
    rank = spatial_rank(X)
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    around = pads_of(X, auto_pad, pads, kernel_shape, strides, dilations)
    pool = getattr(b, f"max_pool{rank}d")
    if small(around, kernel_shape) and X.is_float:
        extra = {"dilation": dilations} if set(dilations) != {1} else {}
        extra |= {"ceil_mode": True} if ceil_mode else {}
        if b.num_outputs > 1:
            found = pool(X, kernel_shape, stride=strides, padding=tuple(around[:rank]), **extra, return_indices=True)
            return found[0], global_places(b, X, found[1], storage_order)
        return pool(X, kernel_shape, stride=strides, padding=tuple(around[:rank]), **extra)
    if b.num_outputs > 1:
        raise Unsupported("the indices of a MaxPool whose padding torch's has not")
    beyond = reach_beyond(X, around, kernel_shape, strides, dilations) if ceil_mode else [0] * 2 * rank
    whole = [live("+", p, q) for p, q in zip(around, beyond, strict=True)]
    return _exact_max_pool(b, X, kernel_shape, strides, dilations, whole)


def global_places(b: OnnxBuilder, x: Value, places: Value, column_major: int) -> Value:
    """Places in the flat tensor, from places in the flat plane of a channel; planes may be counted column by column."""
    sizes: Any = x.shape[2:]
    if column_major:
        if len(sizes) != 2:
            raise Unsupported("column-major indices of a MaxPool that is not of images")
        rows, columns = (b.floor_div(places, sizes[1]), b.remainder(places, sizes[1]))
        places = b.add(b.mul(columns, sizes[0]), rows)
    planes = b.reshape(b.arange(numel(x.shape[:2])), (*x.shape[:2], *[1] * len(sizes)))
    return b.add(places, b.mul(planes, numel(sizes)))


@onnx_op("MaxUnpool", since=9)
def onnx_max_unpool(
    b: OnnxBuilder,
    X: Value,
    I: Value,  # noqa: E741  # the schema's name
    output_shape: Value | None = None,
    *,
    kernel_shape: Any,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    """Each number back to the place from which a MaxPool took it."""
    if output_shape is not None:
        raise Unsupported("MaxUnpool with an output shape: engines differ in what the indices then count")
    rank = spatial_rank(X)
    strides, pads = strides or (1,) * rank, pads or (0,) * 2 * rank
    inner: Any = X.shape[2:]
    sizes = [
        (s - 1) * t - p - q + k
        for s, t, p, q, k in zip(inner, strides, pads[:rank], pads[rank:], kernel_shape, strict=True)
    ]
    flat = b.scatter(
        b.new_zeros(X, (*X.shape[:2], numel(sizes))),
        2,
        b.reshape(b.remainder(I, numel(sizes)), (*X.shape[:2], -1)),
        b.reshape(X, (*X.shape[:2], -1)),
    )
    return b.reshape(flat, (*X.shape[:2], *sizes))


def _exact_max_pool(b: OnnxBuilder, x: Value, kernel: Any, strides: Any, dilations: Any, pads: list[Any]) -> Value:
    rank = x.rank - 2
    integer = None if x.is_float else x.dtype
    if integer is not None:
        if integer not in SMALLEST:
            raise Unsupported(f"MaxPool of {integer}")
        x = b.cast(x, "torch.float32")  # holds every 8-bit integer
    lowest = float("-inf") if integer is None else float(SMALLEST[integer])
    x = b.pad(x, torch_pads(pads), value=lowest) if any(pads) else x
    x = getattr(b, f"max_pool{rank}d")(x, kernel, stride=strides, dilation=dilations)
    return x if integer is None else b.cast(x, f"torch.{integer}")


@onnx_op("AveragePool")
def onnx_average_pool(
    b: OnnxBuilder,
    X: Value,
    *,
    kernel_shape: Any,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    """Torch's own where padding is even and windows are whole, else the share of each window that counts is divided out."""
    rank = spatial_rank(X)
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    around = pads_of(X, auto_pad, pads, kernel_shape, strides, dilations)
    include = bool(count_include_pad)
    if small(around, kernel_shape) and not ceil_mode and set(dilations) == {1}:
        extra = {} if include or not any(around) else {"count_include_pad": False}
        pool = getattr(b, f"avg_pool{rank}d")
        return pool(X, kernel_shape, stride=strides, padding=tuple(around[:rank]), **extra)
    beyond: list[Any] = reach_beyond(X, around, kernel_shape, strides, dilations) if ceil_mode else [0] * 2 * rank
    return b.padded_avg_pool(
        X, kernel_shape, strides, torch_pads(around), torch_pads(beyond), dilations, count_include_pad=include
    )


@onnx_op("LpPool")
def onnx_lp_pool(
    b: OnnxBuilder,
    X: Value,
    *,
    kernel_shape: Any = None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Any = None,
    p: float = 2,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    """The p-norm of absolute values; torch's own lacks the absolute value and padding."""
    if kernel_shape is None:
        raise Unsupported("a LpPool without kernel_shape, which its first schema allows and nowhere explains")
    rank = spatial_rank(X)
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    around: list[Any] = pads_of(X, auto_pad, pads, kernel_shape, strides, dilations)
    if ceil_mode:
        beyond = reach_beyond(X, around, kernel_shape, strides, dilations)
        around = [live("+", s, t) for s, t in zip(around, beyond, strict=True)]
    return b.lp_pool(X, p, kernel_shape, strides, torch_pads(around), dilations)


@onnx_op("GlobalAveragePool")
def onnx_global_average_pool(b: OnnxBuilder, X: Value) -> Value:
    """The mean over all axes after the channels."""
    if 3 <= X.rank <= 5:
        return getattr(b, f"adaptive_avg_pool{X.rank - 2}d")(X, 1)
    return b.mean(X, tuple(range(2, X.rank)), keepdim=True) if X.rank > 2 else X


@onnx_op("GlobalMaxPool")
def onnx_global_max_pool(b: OnnxBuilder, X: Value) -> Value:
    """The largest over all axes after the channels."""
    return b.amax(X, tuple(range(2, X.rank)), keepdim=True) if X.rank > 2 else X


@onnx_op("GlobalLpPool")
def onnx_global_lp_pool(b: OnnxBuilder, X: Value, *, p: float = 2) -> Value:
    """The p-norm over all axes after the channels."""
    return b.vector_norm(X, p, tuple(range(2, X.rank)), keepdim=True)
