"""Convolutions, with padding exact at every run-time size."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Dim, Size, Value
from migrate.graph.sizes import NUM_SAMPLES, Apply, at


def live(op: str, left: Any, right: Any) -> Any:
    """Arithmetic on sizes that stays an expression even where the sampled sizes all give the same number.

    Sampled sizes are multiples of common strides, so a remainder after a stride would look constant, and is not.
    """
    if not isinstance(left, Dim) and not isinstance(right, Dim):
        return PLAIN[op](left, right)
    values = tuple(PLAIN[op](at(left, k), at(right, k)) for k in range(NUM_SAMPLES))
    return Dim(values, Apply(op, (left, right)))


PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "//": operator.floordiv,
    "%": operator.mod,
    "max": max,
    "min": min,
}


def refuse_gaps(auto_pad: str, reaches: Any, strides: Any, *, at_most: int) -> None:
    """What is left between windows may exceed what is there to pad: TensorFlow then pads nothing, ONNX Runtime cuts.

    Raises:
        Unsupported: where the cut reaches the first element, so that every window moves.
    """
    if any(stride - reach > at_most for stride, reach in zip(strides, reaches, strict=True)):
        raise Unsupported(
            f"{auto_pad} padding of windows with gaps of more than {at_most}: engines differ in where they start"
        )


def same_pads(x: Value, kernel: tuple[int, ...], strides: Any, dilations: Any, upper: bool) -> list[Size]:
    """ONNX pads (all begins, then all ends) for auto_pad SAME, from the sizes at run time."""
    begins: list[Size] = []
    ends: list[Size] = []
    for axis, k in enumerate(kernel):
        size: Any = x.shape[2 + axis]
        stride, reach = strides[axis], (k - 1) * dilations[axis] + 1
        refuse_gaps("SAME", [reach], [stride], at_most=2)
        total: Any = reach - 1
        if stride != 1:
            out = (size + stride - 1) // stride
            total = live("max", live("-", (out - 1) * stride + reach, size), 0)
        small = live("//", total, 2)
        large = live("-", total, small)
        begins.append(small if upper else large)
        ends.append(large if upper else small)
    return [*begins, *ends]


def resolve_pads(
    x: Value, rank: int, auto_pad: str, pads: Any, kernel: Any, strides: Any, dilations: Any
) -> list[Size]:
    """The pads that `auto_pad` and `pads` ask for together."""
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        return same_pads(x, kernel, strides, dilations, auto_pad == "SAME_UPPER")
    if auto_pad not in ("NOTSET", "VALID"):
        raise Unsupported(f"auto_pad {auto_pad!r}")
    given: Any = pads if pads and auto_pad != "VALID" else (0,) * 2 * rank
    return list(given)


def torch_pads(pads: list[Size]) -> tuple[Size, ...]:
    """ONNX pads in the order of `F.pad`: last axis first, begin and end together."""
    rank = len(pads) // 2
    return tuple(pads[i + half * rank] for i in reversed(range(rank)) for half in (0, 1))


def is_symmetric(pads: list[Size]) -> bool:
    """Whether begins equal ends and are numbers."""
    half = len(pads) // 2
    return pads[:half] == pads[half:] and all(isinstance(p, int) for p in pads)


def spatial_rank(x: Value) -> int:
    """The number of axes after batch and channels.

    Raises:
        Unsupported: torch has no convolution or pooling over so many.
    """
    if not 3 <= x.rank <= 5:
        raise Unsupported(f"{x.name!r} has {max(x.rank - 2, 0)} spatial axes (1 to 3 are supported)")
    return x.rank - 2


@onnx_op("Conv", learns=("W", "B"))
def onnx_conv(
    b: OnnxBuilder,
    X: Value,
    W: Value,
    B: Value | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    """Symmetric padding is the convolution's own; any other is a `pad` before it."""
    del kernel_shape  # the weight has it
    rank = spatial_rank(W)
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    kernel: Any = W.shape[2:]
    around = resolve_pads(X, rank, auto_pad, pads, kernel, strides, dilations)
    even = is_symmetric(around)
    x = X if even else b.pad(X, torch_pads(around))
    padding = tuple(around[:rank]) if even else (0,) * rank
    conv = getattr(b, f"conv{rank}d")
    return conv(x, W, B, stride=strides, padding=padding, dilation=dilations, groups=group)


def transposed_pads(
    X: Value, kernel: Any, strides: Any, dilations: Any, extra: Any, auto_pad: str, pads: Any, output_shape: Any
) -> list[Any]:
    """What is cut from the full result: ONNX pads, computed where the wanted size is given instead."""
    rank = len(kernel)
    if auto_pad not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise Unsupported(f"auto_pad {auto_pad!r}")
    if output_shape is None and auto_pad in ("NOTSET", "VALID"):
        return list(pads) if pads and auto_pad == "NOTSET" else [0] * 2 * rank
    begins: list[Any] = []
    ends: list[Any] = []
    for i in range(rank):
        size: Any = X.shape[2 + i]
        wanted: Any = output_shape[i - rank] if output_shape is not None else size * strides[i]
        total = strides[i] * (size - 1) + extra[i] + (kernel[i] - 1) * dilations[i] + 1 - wanted
        cut = live("max", total, 0)  # a result that grows does so at its end
        half = live("//", cut, 2)
        begins.append(half if auto_pad == "SAME_UPPER" else live("-", cut, half))
        ends.append(total - begins[-1])
    return [*begins, *ends]


@onnx_op("ConvTranspose", learns=("W", "B"))
def onnx_conv_transpose(
    b: OnnxBuilder,
    X: Value,
    W: Value,
    B: Value | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    output_padding: Any = None,
    output_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    """Uneven pads are cut from the full result, of which torch's even padding is a special case."""
    del kernel_shape  # the weight has it
    rank = spatial_rank(W)
    kernel: Any = W.shape[2:]
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    extra = output_padding or (0,) * rank
    around = transposed_pads(X, kernel, strides, dilations, extra, auto_pad, pads, output_shape)
    conv = getattr(b, f"conv_transpose{rank}d")
    whole = {"stride": strides, "dilation": dilations, "groups": group}
    if is_symmetric(around) and all(e < max(s, d) for e, s, d in zip(extra, strides, dilations, strict=True)):
        return conv(X, W, B, padding=tuple(around[:rank]), output_padding=tuple(extra), **whole)
    grown = [-p for p in around[:rank]] + [e - p for p, e in zip(around[rank:], extra, strict=True)]
    y = b.pad(conv(X, W, None, **whole), torch_pads(grown))
    return y if B is None else b.add(y, b.reshape(B, (-1, *[1] * rank)))
