"""Activations, as layers and by name."""

from __future__ import annotations

from typing import Any

from migrate.frontends.keras.builder import KerasBuilder
from migrate.frontends.keras.registry import Unsupported, keras_layer
from migrate.graph import Value

PLAIN = {
    "relu": "relu", "relu6": "relu6", "sigmoid": "sigmoid", "tanh": "tanh", "silu": "silu", "swish": "silu", "elu": "elu",
    "selu": "selu", "softplus": "softplus", "softsign": "softsign", "gelu": "gelu", "hard_sigmoid": "hardsigmoid",
    "hard_silu": "hardswish", "hard_swish": "hardswish", "mish": "mish", "exponential": "exp", "celu": "celu",
    "hard_tanh": "hardtanh", "log_sigmoid": "logsigmoid", "soft_shrink": "softshrink", "hard_shrink": "hardshrink",
}  # fmt: skip
"""Keras's names and the graph's ops, where both mean the same with their defaults."""


def name_of(activation: Any) -> str:
    """The name of an activation as a configuration has it.

    Raises:
        Unsupported: it is a function of the user's.
    """
    if isinstance(activation, dict):
        own = activation.get("registered_name") in (None, "function") or activation.get("module") in (
            "builtins",
            "keras",
        )
        config: Any = activation.get("config")
        name = config if isinstance(config, str) else activation.get("class_name")
        if not own and not str(activation.get("module")).startswith("keras"):
            raise Unsupported(f"the activation {name!r} is not Keras's own")
        return str(name)
    return "linear" if activation is None else str(activation)


def activate(b: KerasBuilder, x: Value, activation: Any) -> Value:
    """The activation that a layer ends with."""
    name = name_of(activation)
    if name == "linear":
        return x
    if name in ("softmax", "log_softmax"):
        return getattr(b, name)(x, b.axis(-1, x.rank))
    if name == "leaky_relu":
        return b.leaky_relu(x, 0.2)
    if name not in PLAIN:
        raise Unsupported(f"the activation {name!r}")
    return getattr(b, PLAIN[name])(x)


@keras_layer("Activation", layout="any")
def keras_activation(b: KerasBuilder, x: Value, *, activation: Any) -> Value:
    """An activation by its name."""
    return activate(b, x, activation)


@keras_layer("ReLU", layout="any")
def keras_relu(
    b: KerasBuilder, x: Value, *, max_value: float | None = None, negative_slope: float = 0.0, threshold: float = 0.0
) -> Value:
    """The clipped one is ReLU6 or a hardtanh."""
    if threshold or (negative_slope and max_value is not None):
        raise Unsupported("a threshold, or a slope with a maximum")
    if max_value is not None:
        return b.relu6(x) if max_value == 6 else b.hardtanh(x, 0.0, float(max_value))
    return b.leaky_relu(x, float(negative_slope)) if negative_slope else b.relu(x)


@keras_layer("LeakyReLU", layout="any")
def keras_leaky_relu(b: KerasBuilder, x: Value, *, negative_slope: float = 0.3, alpha: float | None = None) -> Value:
    """`alpha` is what Keras 2 calls the slope."""
    return b.leaky_relu(x, float(negative_slope if alpha is None else alpha))


@keras_layer("ELU", layout="any")
def keras_elu(b: KerasBuilder, x: Value, *, alpha: float = 1.0) -> Value:
    """The exponential linear unit."""
    return b.elu(x, float(alpha)) if alpha != 1 else b.elu(x)


@keras_layer("Softmax", layout="any")
def keras_softmax(b: KerasBuilder, x: Value, *, axis: Any = -1) -> Value:
    """Along one axis."""
    if isinstance(axis, list):
        raise Unsupported("a softmax over several axes")
    return b.softmax(x, b.axis(axis, x.rank))


@keras_layer("PReLU", variables=("alpha",), layout="first")
def keras_prelu(b: KerasBuilder, x: Value, *, shared_axes: Any = None) -> Value:
    """One slope for each channel; Keras's slope for each place is arithmetic."""
    from migrate.graph import Step

    shape = b.stored["/".join((*b.path, "alpha"))].shape
    if all(size == 1 for size in shape[:-1]):
        return b.prelu(x, b.variable("alpha", Step("reshape", (shape[-1],))))
    turned = (len(shape) - 1, *range(len(shape) - 1))
    slope = b.variable("alpha", Step("permute", turned))
    return b.sub(b.relu(x), b.mul(slope, b.relu(b.neg(x))))
