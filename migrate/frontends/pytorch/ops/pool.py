"""Pooling whose ATen form differs from the public one."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.registry import Unsupported, aten_op
from migrate.graph import Builder, Value


def _pool(
    b: Builder, kind: str, x: Value, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool, **named: Any
) -> Any:
    given = {"padding": _numbers(padding), "dilation": _numbers(dilation)}
    named |= {name: v for name, v in given.items() if v != tuple({"padding": 0, "dilation": 1}[name] for _ in v)}
    named |= {"ceil_mode": True} if ceil else {}
    strides = _numbers(stride)
    named |= {"stride": strides} if strides and strides != _numbers(kernel) else {}
    return getattr(b, kind)(x, _numbers(kernel), **named)


def _numbers(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


@aten_op("aten.max_pool1d")
def aten_max_pool1d(
    b: Builder, self: Value, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Value:  # fmt: skip
    """Largest elements."""
    return _pool(b, "max_pool1d", self, kernel_size, stride, padding, dilation, ceil_mode)


@aten_op("aten.max_pool2d")
def aten_max_pool2d(
    b: Builder, self: Value, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Value:  # fmt: skip
    """Largest elements."""
    return _pool(b, "max_pool2d", self, kernel_size, stride, padding, dilation, ceil_mode)


@aten_op("aten.max_pool3d")
def aten_max_pool3d(
    b: Builder, self: Value, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Value:  # fmt: skip
    """Largest elements."""
    return _pool(b, "max_pool3d", self, kernel_size, stride, padding, dilation, ceil_mode)


@aten_op("aten.max_pool1d_with_indices")
def aten_max_pool1d_with_indices(
    b: Builder, self: Value, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """Largest elements and their places."""
    return _pool(b, "max_pool1d", self, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)


@aten_op("aten.max_pool2d_with_indices")
def aten_max_pool2d_with_indices(
    b: Builder, self: Value, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """Largest elements and their places."""
    return _pool(b, "max_pool2d", self, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)


@aten_op("aten.max_pool3d_with_indices")
def aten_max_pool3d_with_indices(
    b: Builder, self: Value, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """Largest elements and their places."""
    return _pool(b, "max_pool3d", self, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)


@aten_op("aten.adaptive_max_pool1d")
def aten_adaptive_max_pool1d(b: Builder, self: Value, output_size: Any) -> Any:
    """Largest elements and their places."""
    return b.adaptive_max_pool1d(self, _numbers(output_size)[0], return_indices=True)


@aten_op("aten.adaptive_max_pool2d")
def aten_adaptive_max_pool2d(b: Builder, self: Value, output_size: Any) -> Any:
    """Largest elements and their places."""
    return b.adaptive_max_pool2d(self, _numbers(output_size), return_indices=True)


@aten_op("aten.adaptive_max_pool3d")
def aten_adaptive_max_pool3d(b: Builder, self: Value, output_size: Any) -> Any:
    """Largest elements and their places."""
    return b.adaptive_max_pool3d(self, _numbers(output_size), return_indices=True)


@aten_op("aten.max_unpool2d", "aten.max_unpool3d")
def aten_max_unpool(b: Builder, self: Value, indices: Value, output_size: Any, *ignored: Any) -> Value:
    """Back to where the largest elements were."""
    rank = len(output_size)
    sizes = self.shape[-rank:]
    if not all(
        isinstance(own, int) and isinstance(out, int) and out >= own
        for own, out in zip(sizes, output_size, strict=True)
    ):
        raise Unsupported(f"unpooling from {sizes} to {tuple(output_size)}")
    # any windows of that extent will do: the indices say where the elements go
    stride = tuple(out // own for own, out in zip(sizes, output_size, strict=True))
    kernel = tuple(out - (own - 1) * s for own, out, s in zip(sizes, output_size, stride, strict=True))
    named = {} if kernel == stride else {"stride": stride}
    return getattr(b, f"max_unpool{rank}d")(self, indices, kernel, **named)


@aten_op("aten.fractional_max_pool2d", "aten.fractional_max_pool3d")
def aten_fractional_max_pool(b: Builder, self: Value, kernel_size: Any, output_size: Any, random_samples: Value) -> Any:
    """Largest elements of regions whose borders are drawn: the samples are the model's own random numbers."""
    named = {"output_size": _numbers(output_size), "_random_samples": random_samples}
    return getattr(b, f"fractional_max_pool{len(output_size)}d")(self, _numbers(kernel_size), **named)
