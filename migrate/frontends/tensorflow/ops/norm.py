"""Normalisations. Keras's momentum m is torch's 1 - m."""

from __future__ import annotations

from typing import Any

from migrate.errors import Diagnostic
from migrate.frontends.tensorflow.builder import TensorflowBuilder, needs
from migrate.frontends.tensorflow.registry import tf_op
from migrate.graph import Value

USUAL = 0.99  # Keras's default


def _momentum(b: TensorflowBuilder, mean: Value) -> float:
    """That of the layer that a running mean belongs to."""
    source = mean.weight.source if mean.weight is not None else ""
    if source not in b.momenta:
        todo = "set the momentum of the batch normalisations in the package, where the model had another"
        what = f"the momentum of batch normalisations is not in the file: {USUAL} is taken, Keras's default"
        b.note(Diagnostic(code="MIG350", severity="warning", what=what, where=b.graph.name, todo=todo))
    return round(1 - b.momenta.get(source, USUAL), 6)


def batch_norm(
    b: TensorflowBuilder, x: Value, mean: Value, var: Value, gamma: Value | None, beta: Value | None, epsilon: float
) -> Value:
    """One that is frozen works in training as in evaluation; with gamma or beta alone, that one follows as arithmetic."""
    known = [v for v in (gamma, beta) if v is not None]
    frozen = bool(known) and all(v.weight is not None and not v.weight.trainable for v in known)
    both = gamma is not None and beta is not None
    options: dict[str, Any] = {} if frozen else {"training": False, "momentum": _momentum(b, mean)}
    norm = b.frozen_batch_norm if frozen else b.batch_norm
    made = norm(x, mean, var, gamma if both else None, beta if both else None, eps=epsilon, **options)
    shape = (-1, *[1] * (x.rank - 2)) if x.rank > 2 else (-1,)
    if gamma is not None and not both:
        return b.mul(made, b.reshape(gamma, shape))
    return b.add(made, b.reshape(beta, shape)) if beta is not None and not both else made


@tf_op("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", layout="first")
def tf_fused_batch_norm(
    b: TensorflowBuilder, x: Value, scale: Value, offset: Value, mean: Value, variance: Value, *, epsilon: float = 1e-4,
    data_format: str = "NHWC", is_training: bool = True, exponential_avg_factor: float = 1.0,
) -> Value:  # fmt: skip
    """With the statistics of the batch in evaluation too, it is no layer that is converted."""
    del exponential_avg_factor
    if is_training and data_format == "NCHW" and x.shape[0] == 1 and _is_full(scale, 1) and _is_full(offset, 0):
        return _each_row(b, x, epsilon)
    needs(not is_training, "statistics of the batch in evaluation", "save the model with training=False")
    return batch_norm(b, x, mean, variance, _unless_fixed(scale, 1), _unless_fixed(offset, 0), epsilon)


def _is_full(value: Value, number: int) -> bool:
    return value.node is not None and value.node.op.name == "full" and value.node.args[1] == number


def _each_row(b: TensorflowBuilder, x: Value, epsilon: float) -> Value:
    """Rows as the channels of one sample, (1, rows, width, 1): how Keras 2 computes a layer normalisation."""
    before = x.node.args[0] if x.node is not None and x.node.op.name == "reshape" else None
    if before is not None and before.shape[-1] == x.shape[2] and x.shape[3] == 1:
        return b.reshape(b.layer_norm(before, (x.shape[2],), None, None, epsilon), x.shape)
    return b.layer_norm(x, x.shape[2:], None, None, epsilon)


def _unless_fixed(value: Value, number: int) -> Value | None:
    """A scale or shift; none where the graph has a constant for a layer without one."""
    weight = value.weight
    return None if weight is not None and not weight.source and (weight.array() == number).all() else value


@tf_op("_BatchNorm", layout="first")
def tf_batch_norm(
    b: TensorflowBuilder, x: Value, mean: Value, variance: Value, *rest: Value, epsilon: float, affine: str
) -> Value:
    """One that was written out; see `layers`."""
    given = dict(zip(affine.split(), rest, strict=True))
    flat = {name: b.reshape(v, (-1,)) if v.rank != 1 else v for name, v in given.items()}
    mean, variance = (b.reshape(v, (-1,)) if v.rank != 1 else v for v in (mean, variance))
    return batch_norm(b, x, mean, variance, flat.get("gamma"), flat.get("beta"), epsilon)


@tf_op("LRN", layout="first")
def tf_lrn(
    b: TensorflowBuilder,
    input: Value,
    *,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
) -> Value:
    """Torch divides alpha by the size of the window."""
    size = 2 * depth_radius + 1
    return b.local_response_norm(input, size, alpha * size, beta, bias)


@tf_op("L2Loss")
def tf_l2_loss(b: TensorflowBuilder, t: Value) -> Value:
    """Half of the sum of squares."""
    return b.div(b.sum(b.square(t)), 2.0)
