"""A `DynamicQuantizeLSTM` written out as a `Scan` over float weights, so that these can be given other values.

The state is rounded to 8 bits before each product, which no float operator does. Knows no engine and no handler.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from migrate.frontends.onnx.float_weights import Array, Writer, dequantised


def by_direction(scale: Array) -> Array:
    """A scale or zero point for each direction, or each of its columns, that broadcasts to (D, I, 4H)."""
    return scale.reshape(scale.shape[0], 1, -1)


def _weight(w: Writer, index: int, scale: int) -> ir.Value:
    x, s, z = w.array(index), w.array(scale), w.array(scale + 1)
    assert x is not None
    assert s is not None
    return w.weight(index, dequantised(x, by_direction(s), None if z is None else by_direction(z)))


def _row(w: Writer, x: ir.Value | None, direction: int) -> ir.Value | None:
    """One direction of a tensor that has them first."""
    return None if x is None else w.call("Gather", x, w.constant(np.array(direction)), axis=0)


def _sliced(w: Writer, x: ir.Value, start: int, stop: int) -> ir.Value:
    """A range of the last axis."""
    return w.call("Slice", x, *(w.constant(np.array([v])) for v in (start, stop, -1)))


def _zeros(w: Writer, hidden: int) -> ir.Value:
    """A state of (N, H)."""
    size = _sliced(w, w.call("Shape", w.inputs[0]), 1, 2)
    return w.call("ConstantOfShape", w.call("Concat", size, w.constant(np.array([hidden])), axis=0))


def _step(w: Writer, recurrent: ir.Value, hidden: int) -> ir.Graph:
    """One step: (h, c, what the input gives to the gates) -> (h, c, h)."""
    inner = Writer(w.graph, w.node)
    h, c, given = (
        ir.Value(name=f"{w.name}/{recurrent.name}/{n}", type=ir.TensorType(ir.DataType.FLOAT)) for n in "hcx"
    )
    gates = inner.call("Add", given, inner.call("MatMul", inner.dynamic(h), recurrent))
    i, o, f, new = (_sliced(inner, gates, k * hidden, (k + 1) * hidden) for k in range(4))
    kept = inner.call("Mul", inner.call("Sigmoid", f), c)
    cell = inner.call("Add", kept, inner.call("Mul", inner.call("Sigmoid", i), inner.call("Tanh", new)))
    state = inner.call("Mul", inner.call("Sigmoid", o), inner.call("Tanh", cell))
    outputs = [state, cell, inner.call("Identity", state)]
    for node in inner.made:
        for value in node.outputs:
            value.name = f"{recurrent.name}/{value.name}"
    return ir.Graph([h, c, given], outputs, nodes=inner.made, name="step")


def _direction(w: Writer, direction: int, backward: bool, hidden: int) -> tuple[ir.Value, ...]:
    """Y of (T, N, H) and the last states of (N, H)."""
    weights = [_row(w, _weight(w, index, scale), direction) for index, scale in ((1, 8), (2, 10))]
    assert w.inputs[0] is not None
    assert weights[1] is not None
    gates = w.call("MatMul", w.dynamic(w.inputs[0]), weights[0])
    bias = _row(w, w.inputs[3], direction)
    for start in (0, 4 * hidden) if bias is not None else ():
        gates = w.call("Add", gates, _sliced(w, bias, start, start + 4 * hidden))  # pyright: ignore[reportArgumentType]
    states = [_row(w, w.inputs[index], direction) or _zeros(w, hidden) for index in (5, 6)]
    ways: dict[str, Any] = {"scan_input_directions": [int(backward)], "scan_output_directions": [int(backward)]}
    body = _step(w, weights[1], hidden)
    h, c, y = w.calls("Scan", *states, gates, outputs=3, num_scan_inputs=1, body=body, **ways)
    return y, h, c


def dynamic_quantize_lstm(w: Writer) -> tuple[ir.Value, ...]:
    """Y (T, D, N, H), Y_h and Y_c (D, N, H)."""
    given = {name: a.value for name, a in w.node.attributes.items()}
    hidden = int(given["hidden_size"])
    ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[given.get("direction", "forward")]
    parts = zip(*(_direction(w, d, backward, hidden) for d, backward in enumerate(ways)), strict=True)
    shapes = ([0, 1, -1, hidden], [1, -1, hidden], [1, -1, hidden])
    joined: list[ir.Value] = []
    for values, shape in zip(parts, shapes, strict=True):
        whole = [w.call("Reshape", value, w.constant(np.array(shape))) for value in values]
        joined.append(w.call("Concat", *whole, axis=len(shape) - 3))
    return tuple(joined)
