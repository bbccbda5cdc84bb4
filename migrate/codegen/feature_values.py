"""Where a model's features lie, read off the support vectors that a kernel compares them with.

Far from all of them every kernel is the same, and so is the output: inputs that are drawn must lie among them. Knows no text.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from migrate.graph.ir import Node, Value

Array = np.ndarray[Any, np.dtype[Any]]
_KERNEL = "svm_kernel"


def feature_values(value: Value, nodes: list[Node]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The mean and the deviation of each feature of an input; empty where it does not lead to a kernel by arithmetic alone."""
    for node in nodes:
        support = node.args[1].weight if node.op.name == _KERNEL and isinstance(node.args[1], Value) else None
        if support is None:
            continue
        stored = support.array().astype(float)
        found = _before(node.args[0], value, stored.mean(0), stored.std(0))
        if found is not None:
            mean, deviation = (np.broadcast_to(part, stored.shape[1:]) for part in found)
            return tuple(map(_short, mean)), tuple(map(_short, np.maximum(deviation, 1e-3)))
    return (), ()


def _before(value: Value, wanted: Value, mean: Array, deviation: Array) -> tuple[Array, Array] | None:
    """What the features are at `wanted` where they are `mean` and `deviation` at `value`."""
    if value is wanted:
        return mean, deviation
    node = value.node
    arguments: list[Any] = [] if node is None else [*node.args]
    if node is None or not arguments or not isinstance(arguments[0], Value):
        return None
    if node.op.name == "cast":
        return _before(arguments[0], wanted, mean, deviation)
    number = _constant(arguments[1]) if len(arguments) > 1 else None
    if number is None or node.op.name not in ("add", "sub", "mul", "div"):
        return None
    if node.op.name in ("add", "sub"):
        mean = mean - number if node.op.name == "add" else mean + number
        return _before(arguments[0], wanted, mean, deviation)
    factor = number if node.op.name == "mul" else 1 / number
    if not np.all(factor):
        return None
    return _before(arguments[0], wanted, mean / factor, deviation / np.abs(factor))


def _constant(arg: Any) -> Any:
    if isinstance(arg, Value):
        return None if arg.weight is None else arg.weight.array().astype(float)
    return np.float64(arg) if isinstance(arg, int | float) else None


def _short(number: Any) -> float:
    return float(f"{number:.4g}")
