"""Weights of few bits as floats: the arrays that they stand for, and a writer of nodes that take the floats in their place.

Knows the formats in which quantisers store weights; no engine and no handler.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

SUFFIX = ".dequantized"
Array = np.ndarray[Any, np.dtype[Any]]
# What the codes of bitsandbytes stand for (Dettmers et al. 2023): floats of 4 bits, and quantiles of a normal distribution.
FP4 = (0.0, 0.0052083334885537624, 2 / 3, 1.0, 1 / 3, 0.5, 1 / 6, 0.25)
NF4 = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip
BNB4 = (np.array([*FP4, *(-v for v in FP4)], dtype="float32"), np.array(NF4, dtype="float32"))


def dequantised(x: Array, scale: Array, zero: Array | None = None, *, axis: int = 1, block: int = 0) -> Array:
    """The float32 numbers for which those of few bits stand: one scale for all, for each place of an axis or each block."""
    wide = x.astype("float32")
    wide = wide if zero is None else wide - _fitted(zero, x, axis, block)
    return (wide * _fitted(scale, x, axis, block)).reshape(x.shape)


def on_grid(x: Array, scale: Array, zero: Array | None, low: int, high: int, *, axis: int = 1, block: int = 0) -> Array:
    """The nearest of those floats for which numbers from `low` to `high` stand."""
    s = _fitted(scale, x, axis, block)
    z = np.float32(0) if zero is None else _fitted(zero, x, axis, block)
    return ((np.rint(x / s) + z).clip(low, high) - z) * s


def _fitted(v: Array, x: Array, axis: int, block: int) -> Array:
    """A scale or zero point as floats that broadcast to `x`."""
    v = v.astype("float32")
    if block:
        return np.take(np.repeat(v, block, axis=axis), np.arange(x.shape[axis]), axis=axis)
    return v.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]) if v.size > 1 and v.ndim == 1 else v


def unpacked(packed: Array, bits: int, count: int) -> Array:
    """Numbers of few bits out of bytes along the last axis, the lowest bits first."""
    per_byte = 8 // bits
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    numbers = (packed[..., None] >> shifts) & (2**bits - 1)
    return numbers.reshape(*packed.shape[:-1], -1)[..., :count]


def from_blocks(packed: Any, scales: Any, zeros: Any, width: int, rows: int, bits: int, size: int) -> Array:
    """The (rows, width) weight of a MatMulNBits: a block of a row has a scale, and a zero point, the middle by default."""
    blocks = (width + size - 1) // size
    codes = unpacked(packed.reshape(rows, blocks, -1), bits, size).astype(np.float32)
    if zeros is None:
        place: Any = np.float32(2 ** (bits - 1))
    elif zeros.dtype == np.uint8:
        place = unpacked(zeros.reshape(rows, -1), bits, blocks).astype(np.float32)[..., None]
    else:
        place = zeros.reshape(rows, blocks, 1).astype(np.float32)
    weight = (codes - place) * scales.reshape(rows, blocks, 1).astype(np.float32)
    return weight.reshape(rows, -1)[:, :width]


def from_bnb4(packed: Array, largest: Array, width: int, rows: int, kind: int, size: int) -> Array:
    """The (rows, width) weight of a MatMulBnb4: the upper four bits of a byte first, a scale for each block of all numbers."""
    flat = packed.reshape(-1)
    codes = np.stack((flat >> 4, flat & 15), -1).reshape(-1)[: rows * width]
    scales = np.repeat(largest.reshape(-1).astype(np.float32), size)[: rows * width]
    return (BNB4[kind][codes] * scales).reshape(rows, width)


def from_bytes(stored: Array, scales: Array, zeros: Array | None, bits: int, *, axis: int, block: int) -> Array:
    """A table of numbers of few bits in bytes; the zero point is the middle where none is given."""
    codes = unpacked(stored, bits, stored.shape[-1] * 8 // bits)
    middle = np.full(scales.shape, 2 ** (bits - 1), np.uint8)
    places = middle if zeros is None else unpacked(zeros, bits, scales.shape[-1])
    return dequantised(codes, scales, places, axis=axis, block=block)


class Writer:
    """Nodes before one that they stand for."""

    def __init__(self, graph: ir.Graph, node: ir.Node) -> None:
        self.graph, self.node = graph, node
        self.inputs = [*node.inputs, *[None] * 20]
        self.made: list[ir.Node] = []

    def call(self, op: str, *inputs: ir.Value | None, **attributes: Any) -> ir.Value:
        """One more node; its first output."""
        return self.calls(op, *inputs, outputs=1, **attributes)[0]

    def calls(
        self, op: str, *inputs: ir.Value | None, outputs: int, domain: str = "", **attributes: Any
    ) -> tuple[ir.Value, ...]:
        """One more node; all its outputs."""
        node = ir.node(op, list(inputs), attributes, num_outputs=outputs, domain=domain)
        self.made.append(node)
        for i, value in enumerate(node.outputs):
            value.name = f"{self.name}/{len(self.made)}.{i}{SUFFIX}"
        return tuple(node.outputs)

    @property
    def name(self) -> str:
        """A name that no other node's values have."""
        return next(value.name for value in self.node.outputs if value.name)

    def dynamic(self, x: ir.Value) -> ir.Value:
        """Floats rounded to 8 bits with the range they have, as floats."""
        return self.call("DequantizeLinear", *self.calls("DynamicQuantizeLinear", x, outputs=3))

    def constant(self, array: Array) -> ir.Value:
        """A constant tensor."""
        return self.call("Constant", value=ir.Tensor(array))

    def array(self, index: int) -> Array | None:
        """The content of a stored input; None where it is absent."""
        value = self.inputs[index]
        return None if value is None or value.const_value is None else value.const_value.numpy()

    def weight(self, index: int, array: Array) -> ir.Value:
        """The float weight that stands for a stored input."""
        source = self.inputs[index]
        assert source is not None
        name = f"{source.name}{SUFFIX}"
        if name not in self.graph.initializers:
            content = np.ascontiguousarray(array, dtype="float32")
            value = ir.Value(name=name, const_value=ir.Tensor(content, name=name))
            value.shape, value.type = ir.Shape(content.shape), ir.TensorType(ir.DataType.FLOAT)
            self.graph.initializers[name] = value
        return self.graph.initializers[name]

    def real(self, index: int, scale: int, zero: int, axis: int) -> ir.Value:
        """The float weight of a stored input with its scale and zero point."""
        x, s = self.array(index), self.array(scale)
        assert x is not None
        assert s is not None
        return self.weight(index, dequantised(x, s, self.array(zero), axis=axis))

    def biased(self, y: ir.Value, index: int) -> ir.Value:
        """With a float bias, where there is one."""
        bias = self.inputs[index]
        return y if bias is None else self.call("Add", y, bias)
