"""Convolutions, with padding exact at every run-time size."""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Dim, Size, Value
from migrate.graph.sizes import apply


def same_pads(x: Value, kernel: tuple[int, ...], strides: Any, dilations: Any, upper: bool) -> list[Size]:
    """ONNX pads (all begins, then all ends) for auto_pad SAME, from the sizes at run time."""
    begins: list[Size] = []
    ends: list[Size] = []
    for axis, k in enumerate(kernel):
        size: Any = x.shape[2 + axis]
        stride, reach = strides[axis], (k - 1) * dilations[axis] + 1
        out = (size + stride - 1) // stride
        total: Any = (out - 1) * stride + reach - size
        total = apply("max", total, 0) if isinstance(total, Dim) else max(total, 0)
        small = total // 2
        begins.append(small if upper else total - small)
        ends.append(total - small if upper else small)
    return [*begins, *ends]


def resolve_pads(
    x: Value, rank: int, auto_pad: str, pads: Any, kernel: Any, strides: Any, dilations: Any
) -> list[Size]:
    """The pads that `auto_pad` and `pads` ask for together."""
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        return same_pads(x, kernel, strides, dilations, auto_pad == "SAME_UPPER")
    if auto_pad not in ("NOTSET", "VALID"):
        raise Unsupported(f"auto_pad {auto_pad!r}")
    return [0] * 2 * rank if auto_pad == "VALID" or not pads else list(pads)


def torch_pads(pads: list[Size]) -> tuple[Size, ...]:
    """ONNX pads in the order of `F.pad`: last axis first, begin and end together."""
    rank = len(pads) // 2
    return tuple(pads[i + half * rank] for i in reversed(range(rank)) for half in (0, 1))


def is_symmetric(pads: list[Size]) -> bool:
    """Whether begins equal ends and are numbers."""
    half = len(pads) // 2
    return pads[:half] == pads[half:] and all(isinstance(p, int) for p in pads)


@onnx_op("Conv")
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
    rank = W.rank - 2
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    kernel: Any = W.shape[2:]
    around = resolve_pads(X, rank, auto_pad, pads, kernel, strides, dilations)
    padding: Any = tuple(around[:rank])
    if not is_symmetric(around):
        X, padding = b.pad(X, torch_pads(around)), (0,) * rank
    conv = getattr(b, f"conv{rank}d")
    return conv(X, W, B, stride=strides, padding=padding, dilation=dilations, groups=group)
