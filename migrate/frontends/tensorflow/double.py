"""A graph of float32 as one of float64, for gradients that rounding does not hide. Knows TensorFlow's messages, given `tf`.

    y = FusedBatchNormV3(x, gamma, beta, mean, variance)      ->      y = x * m + (beta - mean * m)
                                                                    m = gamma * rsqrt(variance + eps)

TensorFlow's fused normalisation has no float64. An operator whose result is float32 whatever it takes cannot be widened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def widened(tf: Any, definition: Any) -> Any:
    """The graph in float64.

    Raises:
        ValueError: it holds functions, or a normalisation with the channels second.
    """
    if any(attribute.HasField("func") for node in definition.node for attribute in node.attr.values()):
        raise ValueError("the functions of branches and loops are not widened")
    made = tf.compat.v1.GraphDef()
    for node in definition.node:
        for part in _plain(tf, node) if node.op.startswith("FusedBatchNorm") else [node]:
            made.node.add().CopyFrom(part)
    for node in made.node:
        for attribute in node.attr.values():
            _widen(tf, attribute)
    return made


def _widen(tf: Any, attribute: Any) -> None:
    narrow, wide = tf.float32.as_datatype_enum, tf.float64.as_datatype_enum
    if attribute.type == narrow:
        attribute.type = wide
    elif attribute.HasField("tensor") and attribute.tensor.dtype == narrow:
        attribute.tensor.CopyFrom(tf.make_tensor_proto(tf.make_ndarray(attribute.tensor).astype("float64")))
    elif attribute.HasField("list") and attribute.list.type:
        attribute.list.type[:] = [wide if kind == narrow else kind for kind in attribute.list.type]


def _plain(tf: Any, node: Any) -> list[Any]:
    if node.attr["data_format"].s not in (b"", b"NHWC") or node.attr["is_training"].b:
        raise ValueError("a normalisation with the channels second, or in training")
    parts: list[Any] = []
    add = _adder(tf, node, parts)
    x, gamma, beta, mean, variance = list(node.input)[:5]
    epsilon = tf.compat.v1.NodeDef(name=f"{node.name}/epsilon", op="Const")
    epsilon.attr["dtype"].type = tf.float32.as_datatype_enum
    epsilon.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(node.attr["epsilon"].f, tf.float32))
    parts.append(epsilon)
    root = add("root", "Rsqrt", add("sum", "AddV2", variance, epsilon.name))
    factor = add("factor", "Mul", gamma, root)
    shift = add("shift", "Sub", beta, add("mean", "Mul", mean, factor))
    add("", "AddV2", add("scaled", "Mul", x, factor), shift)
    return parts


def _adder(tf: Any, node: Any, parts: list[Any]) -> Callable[..., str]:
    def add(name: str, op: str, *inputs: str) -> str:
        made = tf.compat.v1.NodeDef(name=f"{node.name}/{name}" if name else node.name, op=op, input=inputs)
        made.attr["T"].type = tf.float32.as_datatype_enum
        parts.append(made)
        return made.name

    return add
