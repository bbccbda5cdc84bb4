"""Quantised operators of a model made to be run, written with a float weight, so that the weight can be given other values.

What an operator stores in few bits has no place for a value in between. Its meaning in floats is a few plain nodes. Knows no
engine and no handler; the names of the float weights are those that the handlers give (`NAME.dequantized`).
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

import numpy as np
import onnx_ir as ir

from migrate.frontends.onnx.float_lstm import dynamic_quantize_lstm
from migrate.frontends.onnx.float_weights import SUFFIX, Writer, dequantised, from_blocks, from_bnb4, from_bytes
from migrate.frontends.onnx.structure import all_graphs

_CONV = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


def _given(w: Writer, index: int) -> ir.Value:
    value = w.inputs[index]
    assert value is not None
    return value


def _content(w: Writer, index: int) -> Any:
    array = w.array(index)
    assert array is not None
    return array


def _numbers(node: ir.Node) -> dict[str, int]:
    return {name: int(a.value) for name, a in node.attributes.items()}


def _conv_attributes(node: ir.Node) -> dict[str, Any]:
    return {name: node.attributes[name] for name in _CONV if name in node.attributes}


def _scaled(w: Writer, index: int, left: int, right: int) -> ir.Value | None:
    """A bias that counts steps of two scales; None where there is none."""
    bias, s, t = w.array(index), w.array(left), w.array(right)
    return None if bias is None or s is None or t is None else w.weight(index, bias * (s * t.astype("float32")))


def _qlinear_conv(w: Writer) -> ir.Value:
    x = w.call("DequantizeLinear", *w.inputs[:3])
    last = "channels_last" in w.node.attributes and w.node.attributes["channels_last"].value
    x = w.call("Transpose", x, perm=[0, 3, 1, 2]) if last else x
    y = w.call("Conv", x, w.real(3, 4, 5, 0), _scaled(w, 8, 1, 4), **_conv_attributes(w.node))
    y = w.call("Transpose", y, perm=[0, 2, 3, 1]) if last else y
    return w.call("QuantizeLinear", y, w.inputs[6], w.inputs[7])


def _qlinear_matmul(w: Writer) -> ir.Value:
    x = w.call("DequantizeLinear", *w.inputs[:3])
    return w.call("QuantizeLinear", w.call("MatMul", x, w.real(3, 4, 5, -1)), w.inputs[6], w.inputs[7])


def _matmul_integer_to_float(w: Writer) -> ir.Value:
    x = w.call("DequantizeLinear", w.inputs[0], w.inputs[2], w.inputs[4])
    return w.biased(w.call("MatMul", x, w.real(1, 3, 5, -1)), 6)


def _dynamic_quantize_matmul(w: Writer) -> ir.Value:
    return w.biased(w.call("MatMul", w.dynamic(_given(w, 0)), w.real(1, 2, 3, -1)), 4)


def _centred(w: Writer, index: int, zero: int) -> ir.Value:
    x = w.call("Cast", w.inputs[index], to=int(ir.DataType.FLOAT))
    place = w.inputs[zero]
    return x if place is None else w.call("Sub", x, w.call("Cast", place, to=int(ir.DataType.FLOAT)))


def _counted(w: Writer, axis: int) -> ir.Value:
    return w.weight(1, dequantised(_content(w, 1), np.ones((), "float32"), w.array(3), axis=axis))


def _matmul_integer(w: Writer) -> ir.Value:
    return w.call("MatMul", _centred(w, 0, 2), _counted(w, -1))


def _qgemm(w: Writer) -> ir.Value:
    flags = {name: a.value for name, a in w.node.attributes.items()}
    x = w.call("DequantizeLinear", *w.inputs[:3])
    shift = _scaled(w, 6, 1, 4)
    weight = w.real(3, 4, 5, 0 if flags.get("transB") else 1)
    alpha = flags.pop("alpha", 1.0)  # scales the bias as well
    y = w.call("Gemm", x, weight, shift, alpha=alpha, beta=alpha, **flags)
    return y if w.inputs[7] is None else w.call("QuantizeLinear", y, w.inputs[7], w.inputs[8])


def _times(w: Writer, weight: Any) -> ir.Value:
    """The product with a weight that has its columns first."""
    return w.call("MatMul", w.inputs[0], w.call("Transpose", w.weight(1, weight), perm=[1, 0]))


def _matmul_nbits(w: Writer) -> ir.Value:
    sizes = _numbers(w.node)
    form = (sizes["K"], sizes["N"], sizes.get("bits", 4), sizes["block_size"])
    return w.biased(_times(w, from_blocks(_content(w, 1), _content(w, 2), w.array(3), *form)), 5)


def _matmul_bnb4(w: Writer) -> ir.Value:
    sizes = _numbers(w.node)
    form = (sizes["K"], sizes["N"], sizes["quant_type"], sizes["block_size"])
    return _times(w, from_bnb4(_content(w, 1), _content(w, 2), *form))


def _gather_block_quantized(w: Writer) -> ir.Value:
    sizes = {"bits": 4, "gather_axis": 0, "quantize_axis": 1, "block_size": 128} | _numbers(w.node)
    form = {"axis": sizes["quantize_axis"], "block": sizes["block_size"]}
    given = (_content(w, 0), _content(w, 2), w.array(3))
    packed = _given(w, 0).dtype == ir.DataType.UINT8
    table = from_bytes(*given, sizes["bits"], **form) if packed else dequantised(*given, **form)
    return w.call("Gather", w.weight(0, table), w.inputs[1], axis=sizes["gather_axis"])


def _qattention(w: Writer) -> tuple[ir.Value, ...]:
    x = w.call("DequantizeLinear", w.inputs[0], w.inputs[3], w.inputs[6])
    given = (x, w.real(1, 4, 7, -1), w.inputs[2], w.inputs[5], w.inputs[8])
    return w.calls("Attention", *given, outputs=len(w.node.outputs), domain=w.node.domain, **w.node.attributes)


def _qembed_layer_normalization(w: Writer) -> tuple[ir.Value, ...]:
    weights = [None if w.array(i) is None else w.real(i, i + 6, i + 11, 0) for i in range(2, 7)]
    given = (*w.inputs[:2], *weights, w.inputs[7])
    return w.calls("EmbedLayerNormalization", *given, outputs=2, domain=w.node.domain, **w.node.attributes)


def _conv_integer(w: Writer) -> ir.Value:
    return w.call("Conv", _centred(w, 0, 2), _counted(w, 0), **_conv_attributes(w.node))


_RULES: dict[str, tuple[tuple[int, ...], Callable[[Writer], ir.Value | tuple[ir.Value, ...]]]] = {
    "QLinearConv": ((3, 8), _qlinear_conv),
    "QGemm": ((3, 6), _qgemm),
    "MatMulNBits": ((1,), _matmul_nbits),
    "MatMulBnb4": ((1,), _matmul_bnb4),
    "QLinearMatMul": ((3,), _qlinear_matmul),
    "MatMulIntegerToFloat": ((1,), _matmul_integer_to_float),
    "DynamicQuantizeMatMul": ((1,), _dynamic_quantize_matmul),
    "DynamicQuantizeLSTM": ((1, 2), dynamic_quantize_lstm),
    "GatherBlockQuantized": ((0,), _gather_block_quantized),
    "MatMulInteger": ((1,), _matmul_integer),
    "ConvInteger": ((1,), _conv_integer),
    "QAttention": ((1,), _qattention),
    "QEmbedLayerNormalization": ((2, 3, 4, 5, 6), _qembed_layer_normalization),
}
"""For each operator the inputs that it stores in few bits, and the nodes that stand for it."""


def write_floats(graph: ir.Graph, names: Set[str]) -> None:
    """Replace, in place, each node of whose stored weights one is among `names` by nodes with float weights of such names.

    The whole numbers of a `MatMulInteger` or a `ConvInteger` are floats then, for the cast that comes next.
    """
    for part in all_graphs(graph):
        for node in [n for n in part if n.op_type in _RULES]:
            stored, rule = _RULES[node.op_type]
            given = [node.inputs[i] for i in stored if i < len(node.inputs)]
            if names.isdisjoint(f"{value.name}{SUFFIX}" for value in given if value is not None):
                continue
            writer = Writer(part, node)
            made = rule(writer)
            part.insert_before(node, writer.made)
            for old, new in zip(node.outputs, made if isinstance(made, tuple) else (made,), strict=False):
                new.name, new.shape, new.type = old.name, old.shape if old.is_graph_output() else None, None
                old.replace_all_uses_with(new, replace_graph_outputs=True)
            part.remove(node, safe=True)
