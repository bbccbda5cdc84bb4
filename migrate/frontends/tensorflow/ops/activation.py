"""Activations."""

from __future__ import annotations

from collections.abc import Callable

from migrate.frontends.tensorflow.builder import TensorflowBuilder
from migrate.frontends.tensorflow.registry import tf_op
from migrate.graph import Value

PLAIN = {
    "Relu": "relu", "Relu6": "relu6", "Elu": "elu", "Selu": "selu", "Sigmoid": "sigmoid", "Tanh": "tanh",
    "Softplus": "softplus", "Softsign": "softsign",
}  # fmt: skip


def _plain(name: str) -> Callable[..., Value]:
    def handler(b: TensorflowBuilder, features: Value) -> Value:
        return getattr(b, name)(features)

    return handler


for _tf, _name in PLAIN.items():
    tf_op(_tf, layout="any")(_plain(_name))


@tf_op("LeakyRelu", layout="any")
def tf_leaky_relu(b: TensorflowBuilder, features: Value, *, alpha: float = 0.2) -> Value:
    """A slope below zero."""
    return b.leaky_relu(features, alpha)


@tf_op("Softmax", layout="any")
def tf_softmax(b: TensorflowBuilder, logits: Value) -> Value:
    """Along the last axis."""
    return b.softmax(logits, dim=1 if b.first else -1)


@tf_op("LogSoftmax", layout="any")
def tf_log_softmax(b: TensorflowBuilder, logits: Value) -> Value:
    """Along the last axis."""
    return b.log_softmax(logits, dim=1 if b.first else -1)
