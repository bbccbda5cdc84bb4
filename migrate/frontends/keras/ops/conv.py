"""Convolutions: channels after the batch inside, kernels turned once, SAME padding exact for every stride and size."""

from __future__ import annotations

from typing import Any

from migrate.frontends.keras.builder import KerasBuilder
from migrate.frontends.keras.ops.activation import activate
from migrate.frontends.keras.registry import Unsupported, keras_layer
from migrate.graph import Size, Step, Value
from migrate.graph.sizes import NUM_SAMPLES, Apply, Dim, at


def spread(value: Any, rank: int) -> tuple[int, ...]:
    """One number for each axis."""
    return tuple(int(v) for v in value) if isinstance(value, list | tuple) else (int(value),) * rank  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def same_pads(x: Value, kernel: tuple[int, ...], strides: tuple[int, ...], dilation: tuple[int, ...]) -> list[Size]:
    """What SAME adds, in the order of `F.pad`: as many at the end as at the beginning, or one more."""
    pads: list[Size] = []
    for axis, size in enumerate(x.shape[2:]):
        reach = (kernel[axis] - 1) * dilation[axis] + 1
        total = _total(size, strides[axis], reach)
        before: Any = _live("//", total, 2) if isinstance(total, Dim) else total // 2
        after: Any = _live("-", total, before) if isinstance(total, Dim) else total - before
        pads = [before, after, *pads]
    return pads


def _total(size: Size, stride: int, reach: int) -> Any:
    if stride == 1:
        return reach - 1
    if isinstance(size, int):
        return max((-(-size // stride) - 1) * stride + reach - size, 0)
    out: Any = (size + stride - 1) // stride
    return _live("max", _live("-", (out - 1) * stride + reach, size), 0)


def _live(op: str, left: Any, right: Any) -> Any:
    """Arithmetic that stays an expression, even where the sampled sizes agree by chance."""
    functions = {"-": lambda a, b: a - b, "//": lambda a, b: a // b, "max": max}
    values = tuple(functions[op](at(left, k), at(right, k)) for k in range(NUM_SAMPLES))
    return Dim(values, Apply(op, (left, right)))


def padded(b: KerasBuilder, x: Value, pads: list[Size], value: float = 0.0) -> tuple[Value, tuple[int, ...]]:
    """The tensor and the padding that the layer itself is to add: all where it is alike on both sides, else none."""
    pairs = list(zip(pads[::2], pads[1::2], strict=True))[::-1]
    if all(isinstance(a, int) and isinstance(c, int) and a == c for a, c in pairs):
        return x, tuple(int(a) for a, _ in pairs)  # pyright: ignore[reportArgumentType]
    return (b.pad(x, tuple(pads), value=value) if value else b.pad(x, tuple(pads))), (0,) * len(pairs)


def _turned(rank: int) -> Step:
    """From (*kernel, in, out) to (out, in, *kernel)."""
    return Step("permute", (rank + 1, rank, *range(rank)))


def _conv(b: KerasBuilder, x: Value, kernel: Value, bias: Value | None, options: dict[str, Any], groups: int) -> Value:
    rank = x.rank - 2
    strides, dilation = spread(options["strides"], rank), spread(options["dilation_rate"], rank)
    size: Any = kernel.shape[2:]
    pads: list[Size] = [0 for _ in range(2 * rank)]
    if options["padding"] == "same":
        pads = same_pads(x, size, strides, dilation)
    elif options["padding"] == "causal":
        pads[0] = (size[0] - 1) * dilation[0]
    x, own = padded(b, x, pads)
    named: dict[str, Any] = {"stride": strides} if set(strides) != {1} else {}
    named |= {"padding": own} if any(own) else {}
    named |= {"dilation": dilation} if set(dilation) != {1} else {}
    named |= {"groups": groups} if groups != 1 else {}
    return getattr(b, f"conv{rank}d")(x, kernel, bias, **named)


@keras_layer("Conv1D", "Conv2D", "Conv3D", variables=("kernel", "bias"), layout="first")
def keras_conv(
    b: KerasBuilder, x: Value, *, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
    dilation_rate: Any = 1, groups: int = 1, activation: Any = None, use_bias: bool = True,
) -> Value:  # fmt: skip
    """A convolution."""
    del filters, kernel_size
    bias = b.variable("bias") if use_bias else None
    options = {"strides": strides, "padding": padding, "dilation_rate": dilation_rate}
    made = _conv(b, x, b.variable("kernel", _turned(x.rank - 2)), bias, options, groups)
    return activate(b, made, activation)


def _depthwise(b: KerasBuilder, name: str) -> tuple[Value, int]:
    """The kernel (*kernel, in, multiplier) as (in x multiplier, 1, *kernel), and how many channels come in."""
    *size, channels, multiplier = b.stored["/".join((*b.path, name))].shape
    rank = len(size)
    turn = Step("permute", (rank, rank + 1, *range(rank)))
    return b.variable(name, turn, Step("reshape", (channels * multiplier, 1, *size))), channels


@keras_layer("DepthwiseConv1D", "DepthwiseConv2D", variables=("kernel", "bias"), layout="first")
def keras_depthwise_conv(
    b: KerasBuilder, x: Value, *, kernel_size: Any, strides: Any = 1, padding: str = "valid", depth_multiplier: int = 1,
    dilation_rate: Any = 1, activation: Any = None, use_bias: bool = True,
) -> Value:  # fmt: skip
    """One group for each channel."""
    del kernel_size, depth_multiplier
    kernel, channels = _depthwise(b, "kernel")
    options = {"strides": strides, "padding": padding, "dilation_rate": dilation_rate}
    made = _conv(b, x, kernel, b.variable("bias") if use_bias else None, options, channels)
    return activate(b, made, activation)


@keras_layer(
    "SeparableConv1D", "SeparableConv2D", variables=("depthwise_kernel", "pointwise_kernel", "bias"), layout="first"
)
def keras_separable_conv(
    b: KerasBuilder, x: Value, *, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
    dilation_rate: Any = 1, depth_multiplier: int = 1, activation: Any = None, use_bias: bool = True,
) -> Value:  # fmt: skip
    """A depthwise convolution, and one of a single place."""
    del filters, kernel_size, depth_multiplier
    kernel, channels = _depthwise(b, "depthwise_kernel")
    options = {"strides": strides, "padding": padding, "dilation_rate": dilation_rate}
    deep = _conv(b, x, kernel, None, options, channels)
    bias = b.variable("bias") if use_bias else None
    point = {"strides": 1, "padding": "valid", "dilation_rate": 1}
    return activate(b, _conv(b, deep, b.variable("pointwise_kernel", _turned(x.rank - 2)), bias, point, 1), activation)


@keras_layer("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose", variables=("kernel", "bias"), layout="first")
def keras_conv_transpose(
    b: KerasBuilder, x: Value, *, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
    output_padding: Any = None, dilation_rate: Any = 1, activation: Any = None, use_bias: bool = True,
) -> Value:  # fmt: skip
    """SAME gives sizes times the stride; what torch's padding cannot say is cut off at the end."""
    del filters
    rank = x.rank - 2
    if output_padding is not None or set(spread(dilation_rate, rank)) != {1}:
        raise Unsupported("a transposed convolution with output_padding or a dilation")
    kernel, strides = spread(kernel_size, rank), spread(strides, rank)
    excess = [k - s for k, s in zip(kernel, strides, strict=True)]
    cut = [max(e, 0) if padding == "same" else 0 for e in excess]
    named: dict[str, Any] = {"stride": strides} if set(strides) != {1} else {}
    named |= {"padding": tuple(c // 2 for c in cut)} if any(c // 2 for c in cut) else {}
    named |= {"output_padding": tuple(max(-e, 0) for e in excess)} if min(excess) < 0 else {}
    bias = b.variable("bias") if use_bias else None
    made = getattr(b, f"conv_transpose{rank}d")(x, b.variable("kernel", _turned(rank)), bias, **named)
    if any(c % 2 for c in cut):
        made = b.getitem(made, (slice(None), slice(None), *(slice(None, -1 if c % 2 else None) for c in cut)))
    return activate(b, made, activation)
