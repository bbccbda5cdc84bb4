"""Small models, each with one thing that an importer may get wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from tests.onnx_files import (
    build,
    node,
    positive,
    weight,
)

IMAGE = ("x", ("N", 3, 9, 8))
NORM = {"s": positive(4), "b": weight(4, seed=1), "m": weight(4, seed=2), "v": positive(4, seed=3)}


def ints(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


def product(*then: Any, outputs: Any = ("y",), opset: int = 17, **weights: Any) -> onnx.ModelProto:
    """`h = MatMul(x, W)` and what follows."""
    first = node("MatMul", ["x", "W"], ["h"])
    return build([first, *then], {"W": weight(8, 6), **weights}, outputs=outputs, opset=opset)


def tied() -> onnx.ModelProto:
    nodes = [node("MatMul", ["x", "W"], ["h"]), node("Relu", ["h"], ["r"]), node("MatMul", ["r", "W"], ["y"])]
    return build(nodes, {"W": weight(8, 8)})


def reshaped(target: tuple[int, ...], shape: tuple[Any, ...]) -> onnx.ModelProto:
    """A convolution, a Reshape to a constant, and a linear layer where the result is a matrix."""
    last = node("MatMul", ["r", "W"], ["y"]) if len(target) == 2 else node("Relu", ["r"], ["y"])
    nodes = [node("Conv", ["x", "C"], ["c"]), node("Reshape", ["c", "t"], ["r"]), last]
    weights = {"C": weight(4, 4, 1, 1), "t": ints(*target)} | ({"W": weight(48, 3)} if len(target) == 2 else {})
    return build(nodes, weights, inputs=("x", shape))


def normalised(outputs: list[str], opset: int = 15, **attributes: Any) -> onnx.ModelProto:
    nodes = [
        node("Conv", ["x", "C"], ["c"]),
        node("BatchNormalization", ["c", "s", "b", "m", "v"], outputs, name="bn", **attributes),
    ]
    return build(nodes, {"C": weight(4, 3, 3, 3), **NORM}, inputs=IMAGE, opset=opset)


def merged(scale: Any, bias: Any) -> onnx.ModelProto:
    """Two normalisations whose scales and variances are one tensor, and whose biases and means are another."""
    nodes = [
        node("Conv", ["x", "C"], ["c"]),
        node("BatchNormalization", ["c", "s", "b", "b", "s"], ["h"]),
        node("Relu", ["h"], ["r"]),
        node("BatchNormalization", ["r", "s", "b", "b", "s"], ["y"]),
    ]
    return build(nodes, {"C": weight(4, 3, 3, 3), "s": scale, "b": bias}, inputs=IMAGE)


def dropped(opset: int, ratio: float | None = 0.3, **attributes: Any) -> onnx.ModelProto:
    """A Dropout whose rate is an attribute before opset 12 and an input since."""
    if opset < 12:
        given = {} if ratio is None else {"ratio": ratio}
        return product(node("Dropout", ["h"], ["y"], **given, **attributes), opset=opset)
    inputs = ["h"] if ratio is None else ["h", "p"]
    weights = {} if ratio is None else {"p": np.array(ratio, dtype=np.float32)}
    return product(node("Dropout", inputs, ["y"], **attributes), opset=opset, **weights)


def conv(**attributes: Any) -> onnx.ModelProto:
    return build([node("Conv", ["x", "C"], ["y"], **attributes)], {"C": weight(4, 3, 3, 3)}, inputs=IMAGE)


def pooled(op: str, **attributes: Any) -> onnx.ModelProto:
    """A pooling of numbers that are all negative, where padding with zero would show."""
    nodes = [
        node("Conv", ["x", "C"], ["c"]),
        node("Exp", ["c"], ["e"]),
        node("Neg", ["e"], ["n"]),
        node(op, ["n"], ["y"], kernel_shape=[3, 3], strides=[2, 2], **attributes),
    ]
    return build(nodes, {"C": weight(4, 3, 1, 1)}, inputs=IMAGE)


def softmax(opset: int) -> onnx.ModelProto:
    """Before opset 13 a softmax runs over all axes from `axis` on."""
    nodes = [node("Conv", ["x", "C"], ["c"]), node("Softmax", ["c"], ["z"], axis=1), node("Relu", ["z"], ["y"])]
    return build(nodes, {"C": weight(4, 3, 3, 3)}, inputs=IMAGE, opset=opset)


def split() -> onnx.ModelProto:
    return product(node("Split", ["h"], ["a", "y"], axis=1, num_outputs=2), opset=18)
