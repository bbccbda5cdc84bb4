"""Calls of operators as each revision of their schema has them, where the call itself changed or no family's table has one.

`SAME_AS` says in today's form what a call means that no engine takes any longer. Knows no frontend.
"""

from __future__ import annotations

import numpy as np

from tests.migrate.frontends.onnx.ops.cases import Case, f32, ints, x
from tests.onnx_files import positive

X = x(2, 3, 4, 5)
POSITIVE = np.abs(X) + np.float32(0.5)
ROW = x(3, 4, seed=1)  # broadcast over axes 1 and 2 of X
IMAGE = x(2, 4, 6, 6)
NORM = (X, x(3, seed=1), x(3, seed=2), x(3, seed=3), positive(3, seed=4))
TRUE = X > 0
WHOLE = np.arange(120, dtype=np.int64).reshape(2, 3, 4, 5) - 60
SEQUENCE = (x(5, 2, 3), x(1, 12, 3, seed=1), x(1, 12, 4, seed=2), x(1, 24, seed=3))
SHORT = (x(5, 2, 3), x(1, 4, 3, seed=1), x(1, 4, 4, seed=2), x(1, 8, seed=3))
CELLS = np.array([[0, 2, 1, 0, 1]])
REQUESTED = {"broadcast": 1, "axis": 1}
FLOATS = ("Add", "Sub", "Mul", "Div")


def old(op: str, *inputs: object, opset: int, **attributes: object) -> Case:
    """A case with its attributes as keywords; nothing but the first two inputs is computed."""
    constants = tuple(range(2, len(inputs)))
    return Case(op=op, inputs=inputs, opset=opset, attributes=attributes, constants=constants)


SAME_AS: list[tuple[Case, Case]] = [
    *((old(op, X, POSITIVE[0, :, :, 0], opset=n, **REQUESTED), old(op, X, POSITIVE[:1, :, :, :1], opset=13))
      for op in FLOATS for n in (1, 6)),
    (old("Pow", POSITIVE, ROW, opset=1, **REQUESTED), old("Pow", POSITIVE, ROW[None, ..., None], opset=13)),
    *((Case(op=op, inputs=(X, ROW), opset=1, attributes=REQUESTED, gradient=False),
       Case(op=op, inputs=(X, ROW[None, ..., None]), opset=13)) for op in ("Less", "Greater")),
    (Case(op="Equal", inputs=(WHOLE, WHOLE[1, :, :, 1]), opset=1, attributes=REQUESTED),
     Case(op="Equal", inputs=(WHOLE, WHOLE[1:, :, :, 1:2]), opset=13)),
    *((Case(op=op, inputs=(TRUE, TRUE[1, :, :, 1]), opset=1, attributes=REQUESTED),
       Case(op=op, inputs=(TRUE, TRUE[1:, :, :, 1:2]), opset=13)) for op in ("And", "Or", "Xor")),
    (Case(op="BatchNormalization", inputs=NORM, opset=1, constants=(3, 4),
          attributes={"is_test": 1, "spatial": 1, "consumed_inputs": [0, 0, 0, 1, 1]}),
     Case(op="BatchNormalization", inputs=NORM, opset=15, constants=(3, 4))),
    (Case(op="BatchNormalization", inputs=NORM, opset=6, constants=(3, 4), attributes={"is_test": 1}),
     Case(op="BatchNormalization", inputs=NORM, opset=15, constants=(3, 4))),
    (old("Cast", WHOLE, opset=1, to="FLOAT"), old("Cast", WHOLE, opset=13, to=1)),
    (old("Clip", X, opset=1, min=-0.5, max=0.5), old("Clip", X, np.float32(-0.5), np.float32(0.5), opset=13)),
    (old("DepthToSpace", x(2, 8, 2, 3), opset=1, blocksize=2), old("DepthToSpace", x(2, 8, 2, 3), opset=13, blocksize=2)),
    *((old("Dropout", X, opset=n, is_test=1, ratio=0.3), old("Identity", X, opset=13)) for n in (1, 6)),
    (old("Gemm", X[0, 0], x(5, 3), x(4, 3), opset=1, alpha=0.5), old("Gemm", X[0, 0], x(5, 3), x(4, 3), opset=13, alpha=0.5)),
    (old("Gemm", X[0, 0], x(5, 3), x(3), opset=6, beta=2.0, broadcast=1),
     old("Gemm", X[0, 0], x(5, 3), x(3), opset=13, beta=2.0)),
    (old("Gemm", X[0, 0], x(5, 3), x(3), opset=6, broadcast=1), old("Gemm", X[0, 0], x(5, 3), x(3), opset=13)),
    (old("GlobalLpPool", X, opset=1, p=3.0), old("GlobalLpPool", X, opset=2, p=3)),
    (old("GlobalLpPool", X, opset=22, p=3), old("GlobalLpPool", X, opset=2, p=3)),
    *((old(op, *inputs, opset=1, hidden_size=4), old(op, *inputs, opset=14, hidden_size=4))
      for op, inputs in (("GRU", SEQUENCE), ("RNN", SHORT))),
    (old("LpPool", X, opset=1, kernel_shape=[2, 3], p=3.0, strides=[2, 1]),
     old("LpPool", X, opset=18, kernel_shape=[2, 3], p=3, strides=[2, 1])),
    (old("Pad", X, opset=1, paddings=[0, 0, 1, 2, 0, 0, 2, 1], mode="edge"),
     Case(op="Pad", inputs=(X, ints(0, 0, 1, 2, 0, 0, 2, 1)), constants=(1,), attributes={"mode": "edge"})),
    (old("Reshape", X, opset=1, shape=[0, -1]), Case(op="Reshape", inputs=(X, ints(0, -1)), constants=(1,))),
    (old("Selu", X, opset=1), old("Selu", X, opset=6, alpha=1.6732, gamma=1.0507)),
    (Case(op="Split", inputs=(X,), opset=1, attributes={"axis": 3, "split": [2, 3]}, num_outputs=2),
     Case(op="Split", inputs=(X,), opset=11, attributes={"axis": 3, "split": [2, 3]}, num_outputs=2)),
    (Case(op="Tile", inputs=(X, f32(3)[0], f32(2)[0]), opset=1, constants=(1, 2)),
     Case(op="Tile", inputs=(X, ints(1, 1, 3, 1)), constants=(1,))),
    (old("Upsample", X, opset=1, height_scale=2.0, width_scale=3.0),
     Case(op="Upsample", inputs=(X, f32(1, 1, 2, 3)), opset=9, constants=(1,))),
]  # fmt: skip
CASES = [
    Case(op="BitCast", inputs=(X,), opset=26, attributes={"to": 6}, gradient=False, engine="reference"),
    *(Case(op="ConstantOfShape", inputs=(ints(2, 3),), constants=(0,), opset=n) for n in (9, 20, 21, 23, 24, 25)),
    Case(op="CumProd", inputs=(X, np.int64(1)), constants=(1,), opset=26, engine="reference"),
    *(Case(op="Det", inputs=(x(2, 3, 3),), opset=n, engine="reference") for n in (11, 22)),
    *(Case(op="Dropout", inputs=(X,), opset=n, attributes={"ratio": 0.3}) for n in (7, 10)),
    *(Case(op="Dropout", inputs=(X, np.float32(0.3)), constants=(1,), opset=n) for n in (12, 13)),
    Case(op="Dropout", inputs=(X, np.float32(0.3)), constants=(1,), opset=22, engine="reference"),
    *(Case(op=op, inputs=(X,), opset=n) for op in ("Softmax", "LogSoftmax", "Hardmax") for n in (1, 11, 13)),
    Case(op="Scatter", inputs=(x(3, 5), CELLS, x(1, 5)), opset=9),
    *(Case(op="ScatterElements", inputs=(x(3, 5), CELLS, x(1, 5)), opset=n) for n in (11, 13)),
    *(Case(op="ScatterND", inputs=(x(3, 5), np.array([[0], [2]]), x(2, 5)), opset=n) for n in (11, 13)),
    Case(op="SwiGLU", inputs=(X, POSITIVE), opset=28, engine="reference"),
    Case(op="Swish", inputs=(X,), opset=24, engine="reference"),
    Case(op="TopK", inputs=(X,), opset=1, attributes={"k": 2, "axis": 1}, num_outputs=2),
]
