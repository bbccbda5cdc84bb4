"""Convolutions: channels after the batch inside, kernels turned once, SAME padding exact for every stride and size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from migrate.frontends.tensorflow.builder import TensorflowBuilder, needs
from migrate.frontends.tensorflow.registry import tf_op
from migrate.graph import Size, Value
from migrate.graph.sizes import NUM_SAMPLES, Apply, Dim, at


def spatial(numbers: Sequence[Any], data_format: str) -> tuple[Any, ...]:
    """Of one number for each axis those of the spatial ones."""
    return tuple(numbers[2:] if data_format.startswith("NC") else numbers[1:-1])


def same_pads(x: Value, kernel: Sequence[Any], strides: Sequence[int], dilation: Sequence[int]) -> list[Size]:
    """What SAME adds, in the order of `F.pad`: as many at the end as at the beginning, or one more."""
    pads: list[Size] = []
    for axis, size in enumerate(x.shape[2:]):
        total = _total(size, strides[axis], (kernel[axis] - 1) * dilation[axis] + 1)
        before: Any = live("//", total, 2) if isinstance(total, Dim) else total // 2
        after: Any = live("-", total, before) if isinstance(total, Dim) else total - before
        pads = [before, after, *pads]
    return pads


def _total(size: Size, stride: int, reach: int) -> Any:
    if stride == 1:
        return reach - 1
    if isinstance(size, int):
        return max((-(-size // stride) - 1) * stride + reach - size, 0)
    out: Any = (size + stride - 1) // stride
    return live("max", live("-", (out - 1) * stride + reach, size), 0)


def live(op: str, left: Any, right: Any) -> Any:
    """Arithmetic that stays an expression, even where the sampled sizes agree by chance."""
    functions = {"-": lambda a, b: a - b, "//": lambda a, b: a // b, "max": max}
    values = tuple(functions[op](at(left, k), at(right, k)) for k in range(NUM_SAMPLES))
    return Dim(values, Apply(op, (left, right)))


def padded(b: TensorflowBuilder, x: Value, pads: list[Size], value: float = 0.0) -> tuple[Value, tuple[int, ...]]:
    """The tensor and the padding that the layer itself is to add: all where it is alike on both sides, else none."""
    pairs = list(zip(pads[::2], pads[1::2], strict=True))[::-1]
    if all(isinstance(a, int) and isinstance(c, int) and a == c for a, c in pairs):
        return x, tuple(int(a) for a, _ in pairs)  # pyright: ignore[reportArgumentType]
    return (b.pad(x, tuple(pads), value=value) if value else b.pad(x, tuple(pads))), (0,) * len(pairs)


def pads_of(
    x: Value, padding: str, explicit: Sequence[Any], data_format: str, kernel: Sequence[Any], steps: Any, dilation: Any
) -> list[Size]:
    """Padding in the order of `F.pad`."""
    if padding == "SAME":
        return same_pads(x, kernel, steps, dilation)
    if padding == "EXPLICIT":
        begins, ends = spatial(explicit[::2], data_format), spatial(explicit[1::2], data_format)
        return [size for pair in list(zip(begins, ends, strict=True))[::-1] for size in pair]
    return [0 for _ in range(2 * (x.rank - 2))]


def named(strides: Any, dilation: Any, own: Any, groups: int) -> dict[str, Any]:
    """What of a convolution's arguments is not torch's default."""
    made: dict[str, Any] = {"stride": tuple(strides)} if set(strides) != {1} else {}
    made |= {"padding": own} if any(own) else {}
    made |= {"dilation": tuple(dilation)} if set(dilation) != {1} else {}
    return made | ({"groups": groups} if groups != 1 else {})


@tf_op("Conv2D", "Conv3D", layout="first")
def tf_conv(
    b: TensorflowBuilder, input: Value, filter: Value, *, strides: Any, padding: str, explicit_paddings: Any = (),
    data_format: str = "NHWC", dilations: Any = None,
) -> Value:  # fmt: skip
    """A convolution; a kernel of fewer input channels than there are makes groups."""
    rank = input.rank - 2
    steps = spatial(strides, data_format)
    dilation = spatial(dilations, data_format) if dilations else (1,) * rank
    kernel = b.turned(filter, rank + 1, rank, *range(rank))
    pads = pads_of(input, padding, explicit_paddings, data_format, filter.shape[:rank], steps, dilation)
    x, own = padded(b, input, pads)
    groups: Any = input.shape[1] // filter.shape[rank]  # pyright: ignore[reportOperatorIssue]
    return getattr(b, f"conv{rank}d")(x, kernel, None, **named(steps, dilation, own, groups))


@tf_op("DepthwiseConv2dNative", layout="first")
def tf_depthwise_conv(
    b: TensorflowBuilder, input: Value, filter: Value, *, strides: Any, padding: str, explicit_paddings: Any = (),
    data_format: str = "NHWC", dilations: Any = None,
) -> Value:  # fmt: skip
    """One group for each channel."""
    height, width, channels, multiplier = filter.shape
    kernel = b.reshape(b.turned(filter, 2, 3, 0, 1), (channels * multiplier, 1, height, width))  # pyright: ignore[reportOperatorIssue]
    steps = spatial(strides, data_format)
    dilation = spatial(dilations, data_format) if dilations else (1, 1)
    pads = pads_of(input, padding, explicit_paddings, data_format, (height, width), steps, dilation)
    x, own = padded(b, input, pads)
    return b.conv2d(x, kernel, None, **named(steps, dilation, own, int(channels)))  # pyright: ignore[reportArgumentType]


@tf_op("_DilatedConv", layout="first")
def tf_dilated_conv(
    b: TensorflowBuilder,
    x: Value,
    filter: Value,
    block: Value,
    paddings: Value,
    crops: Value,
    *,
    depthwise: bool = False,
) -> Value:
    """One that was written between SpaceToBatchND and BatchToSpaceND; what is cut off at the end was never padded."""
    rank = x.rank - 2
    steps, around, cut = tuple(b.numbers(block)), b.numbers(paddings), b.numbers(crops)
    pairs = [(around[2 * k] - cut[2 * k], around[2 * k + 1] - cut[2 * k + 1]) for k in range(rank)]
    kernel = filter if filter.rank == rank + 2 else b.reshape(filter, filter.shape[1:])
    *size, channels, last = kernel.shape
    kernel = (
        b.turned(kernel, rank, rank + 1, *range(rank)) if depthwise else b.turned(kernel, rank + 1, rank, *range(rank))
    )
    if depthwise:
        kernel = b.reshape(kernel, (channels * last, 1, *size))  # pyright: ignore[reportOperatorIssue]
    x, own = padded(b, x, [n for pair in pairs[::-1] for n in pair])
    groups: Any = channels if depthwise else x.shape[1] // channels  # pyright: ignore[reportOperatorIssue]
    return getattr(b, f"conv{rank}d")(x, kernel, None, **named((1,) * rank, steps, own, groups))


@tf_op("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def tf_conv_transpose(
    b: TensorflowBuilder, input_sizes: Value, filter: Value, out_backprop: Value, *, strides: Any, padding: str,
    explicit_paddings: Any = (), data_format: str = "NHWC", dilations: Any = None,
) -> Any:  # fmt: skip
    """A transposed convolution: what torch gives without padding, cut to what SAME or VALID leaves of it."""
    rank = out_backprop.rank - 2
    needs(
        set(dilations or (1,)) == {1} and not explicit_paddings,
        "a transposed convolution with dilation or explicit padding",
    )
    last = data_format.startswith("NC")
    x = out_backprop if last else b.permute(out_backprop, (0, rank + 1, *range(1, rank + 1)))
    steps = spatial(strides, data_format)
    made = _transposed(
        b, x, b.turned(filter, rank + 1, rank, *range(rank)), steps, padding, b.numbers(input_sizes), data_format
    )
    return made if last else b.permute(made, (0, *range(2, rank + 2), 1))


def _transposed(
    b: TensorflowBuilder, x: Value, kernel: Value, steps: Any, padding: str, sizes: Any, data_format: str
) -> Value:
    rank = x.rank - 2
    excess: list[Any] = [k - s for k, s in zip(kernel.shape[2:], steps, strict=True)]  # pyright: ignore[reportOperatorIssue]
    if padding == "SAME":
        cut = [max(e, 0) for e in excess]
        more = [max(-e, 0) for e in excess]
    else:
        wanted = spatial(sizes, data_format)
        cut = [0] * rank
        natural = [(x.shape[2 + k] - 1) * steps[k] + kernel.shape[2 + k] for k in range(rank)]  # pyright: ignore[reportOperatorIssue]
        more = [0 if not isinstance(w, int) or w < 0 else w - n for w, n in zip(wanted, natural, strict=True)]  # pyright: ignore[reportOperatorIssue]
    options = named(steps, (1,), tuple(c // 2 for c in cut), 1)
    options |= {"output_padding": tuple(more)} if any(more) else {}
    made = getattr(b, f"conv_transpose{rank}d")(x, kernel, None, **options)
    if any(c % 2 for c in cut):
        made = b.getitem(made, (slice(None), slice(None), *(slice(None, -1 if c % 2 else None) for c in cut)))
    return made
