"""Quantised operators of a model made to be run, written with a float weight, so that the weight can be given other values.

What an operator stores in few bits has no place for a value in between. Its meaning in floats is a few plain nodes. Knows no
engine and no handler; the names of the float weights are those that the handlers give (`NAME.dequantized`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import onnx_ir as ir

from migrate.frontends.onnx.structure import all_graphs

SUFFIX = ".dequantized"
Array = np.ndarray[Any, np.dtype[Any]]
_CONV = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


def dequantised(x: Array, scale: Array, zero: Array | None = None, *, axis: int = 1, block: int = 0) -> Array:
    """The float32 numbers for which those of few bits stand: one scale for all, for each place of an axis or each block."""

    def fitted(v: Array) -> Array:
        v = v.astype("float32")
        if block:
            return np.take(np.repeat(v, block, axis=axis), np.arange(x.shape[axis]), axis=axis)
        return v.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]) if v.size > 1 and v.ndim == 1 else v

    wide = x.astype("float32")
    return ((wide if zero is None else wide - fitted(zero)) * fitted(scale)).reshape(x.shape)


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


class Writer:
    """Nodes before one that they stand for."""

    def __init__(self, graph: ir.Graph, node: ir.Node) -> None:
        self.graph, self.node = graph, node
        self.inputs = [*node.inputs, *[None] * 10]
        self.made: list[ir.Node] = []

    def call(self, op: str, *inputs: ir.Value | None, **attributes: Any) -> ir.Value:
        """One more node; its first output."""
        outputs = 3 if op == "DynamicQuantizeLinear" else 1
        node = ir.node(op, list(inputs), attributes, num_outputs=outputs)
        self.made.append(node)
        for i, value in enumerate(node.outputs):
            value.name = f"{self.node.outputs[0].name}/{len(self.made)}.{i}{SUFFIX}"
        return node.outputs[0]

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


def _conv_attributes(node: ir.Node) -> dict[str, Any]:
    return {name: node.attributes[name] for name in _CONV if name in node.attributes}


def _qlinear_conv(w: Writer) -> ir.Value:
    x = w.call("DequantizeLinear", *w.inputs[:3])
    bias, scales = w.array(8), (w.array(1), w.array(4))
    shift = None
    if bias is not None:
        shift = w.weight(8, bias * (np.float32(scales[0]) * np.asarray(scales[1], "float32")))  # pyright: ignore[reportArgumentType]
    y = w.call("Conv", x, w.real(3, 4, 5, 0), shift, **_conv_attributes(w.node))
    return w.call("QuantizeLinear", y, w.inputs[6], w.inputs[7])


def _qlinear_matmul(w: Writer) -> ir.Value:
    x = w.call("DequantizeLinear", *w.inputs[:3])
    return w.call("QuantizeLinear", w.call("MatMul", x, w.real(3, 4, 5, -1)), w.inputs[6], w.inputs[7])


def _matmul_integer_to_float(w: Writer) -> ir.Value:
    x = w.call("DequantizeLinear", w.inputs[0], w.inputs[2], w.inputs[4])
    return w.biased(w.call("MatMul", x, w.real(1, 3, 5, -1)), 6)


def _dynamic_quantize_matmul(w: Writer) -> ir.Value:
    w.call("DynamicQuantizeLinear", w.inputs[0])
    x = w.call("DequantizeLinear", *w.made[-1].outputs)
    return w.biased(w.call("MatMul", x, w.real(1, 2, 3, -1)), 4)


def _centred(w: Writer, index: int, zero: int) -> ir.Value:
    x = w.call("Cast", w.inputs[index], to=int(ir.DataType.FLOAT))
    place = w.inputs[zero]
    return x if place is None else w.call("Sub", x, w.call("Cast", place, to=int(ir.DataType.FLOAT)))


def _counted(w: Writer, axis: int) -> ir.Value:
    stored = w.array(1)
    assert stored is not None
    return w.weight(1, dequantised(stored, np.ones((), "float32"), w.array(3), axis=axis))


def _matmul_integer(w: Writer) -> ir.Value:
    return w.call("MatMul", _centred(w, 0, 2), _counted(w, -1))


def _qgemm(w: Writer) -> ir.Value:
    flags = {name: a.value for name, a in w.node.attributes.items()}
    x = w.call("DequantizeLinear", *w.inputs[:3])
    bias, scales = w.array(6), (w.array(1), w.array(4))
    shift = None
    if bias is not None:
        shift = w.weight(6, bias * (np.float32(scales[0]) * np.asarray(scales[1], "float32")))  # pyright: ignore[reportArgumentType]
    weight = w.real(3, 4, 5, 0 if flags.get("transB") else 1)
    alpha = flags.pop("alpha", 1.0)  # scales the bias as well
    y = w.call("Gemm", x, weight, shift, alpha=alpha, beta=alpha, **flags)
    return y if w.inputs[7] is None else w.call("QuantizeLinear", y, w.inputs[7], w.inputs[8])


def _matmul_nbits(w: Writer) -> ir.Value:
    sizes = {name: int(a.value) for name, a in w.node.attributes.items()}
    content, scales = w.array(1), w.array(2)
    assert content is not None
    assert scales is not None
    form = (sizes["K"], sizes["N"], sizes.get("bits", 4), sizes["block_size"])
    weight = w.weight(1, from_blocks(content, scales, w.array(3), *form))
    return w.biased(w.call("MatMul", w.inputs[0], w.call("Transpose", weight, perm=[1, 0])), 5)


def _conv_integer(w: Writer) -> ir.Value:
    return w.call("Conv", _centred(w, 0, 2), _counted(w, 0), **_conv_attributes(w.node))


_RULES: dict[str, tuple[int, Callable[[Writer], ir.Value]]] = {
    "QLinearConv": (3, _qlinear_conv),
    "QGemm": (3, _qgemm),
    "MatMulNBits": (1, _matmul_nbits),
    "QLinearMatMul": (3, _qlinear_matmul),
    "MatMulIntegerToFloat": (1, _matmul_integer_to_float),
    "DynamicQuantizeMatMul": (1, _dynamic_quantize_matmul),
    "MatMulInteger": (1, _matmul_integer),
    "ConvInteger": (1, _conv_integer),
}


def write_floats(graph: ir.Graph, names: Collection[str]) -> None:
    """Replace, in place, each node whose stored weight is among `names` by nodes with a float weight of that name.

    The whole numbers of a `MatMulInteger` or a `ConvInteger` are floats then, for the cast that comes next.
    """
    for part in all_graphs(graph):
        for node in [n for n in part if n.op_type in _RULES]:
            index, rule = _RULES[node.op_type]
            stored = node.inputs[index] if len(node.inputs) > index else None
            if stored is None or f"{stored.name}{SUFFIX}" not in names:
                continue
            writer = Writer(part, node)
            result = rule(writer)
            part.insert_before(node, writer.made)
            result.name, old = node.outputs[0].name, node.outputs[0]
            old.replace_all_uses_with(result, replace_graph_outputs=True)
            result.shape, result.type = old.shape, None
            part.remove(node, safe=True)
