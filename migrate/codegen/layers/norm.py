"""Normalisations as modules, which follow `train()` and `eval()`."""

from __future__ import annotations

from typing import Any

from migrate.codegen.layers import Arg, Layer, layer, of_dtype, tensors, weight_of
from migrate.graph.ir import Node

_RANK_OF = {2: "1d", 3: "1d", 4: "2d", 5: "3d"}


def _affine(weight: Any, bias: Any) -> bool | None:
    """Whether both are parameters; None where they are neither both there nor both absent."""
    if weight is None and bias is None:
        return False
    return True if weight_of(weight) and weight_of(bias) else None


@layer("batch_norm", "input running_mean running_var weight=None bias=None training=False momentum=0.1 eps=1e-5")
def batch_norm(
    node: Node, input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: Any, momentum: Any,
    eps: Any,
) -> Layer | None:  # fmt: skip
    """`nn.BatchNorm1d`, `nn.BatchNorm2d`, `nn.BatchNorm3d`."""
    del node
    affine = _affine(weight, bias)
    tracked = weight_of(running_mean, "buffer") and weight_of(running_var, "buffer")
    if affine is None or not tracked or training is True or input.rank not in _RANK_OF:
        return None
    args = (
        Arg("num_features", running_mean.shape[0], positional=True),
        Arg("eps", eps, 1e-5),
        Arg("momentum", round(momentum, 6), 0.1),  # 1 - 0.9 in float32 is 0.10000002
        Arg("affine", affine, True),
    )
    named = tensors(weight=weight, bias=bias, running_mean=running_mean, running_var=running_var)
    constructor = f"nn.BatchNorm{_RANK_OF[input.rank]}"
    args += of_dtype(running_mean)
    return Layer(constructor=constructor, args=args, inputs=(input,), role="norm", tensors=named)


@layer(
    "instance_norm",
    "input running_mean=None running_var=None weight=None bias=None use_input_stats=True momentum=0.1 eps=1e-5",
)
def instance_norm(
    node: Node, input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, use_input_stats: Any,
    momentum: Any, eps: Any,
) -> Layer | None:  # fmt: skip
    """`nn.InstanceNorm1d`, `nn.InstanceNorm2d`, `nn.InstanceNorm3d`, without running statistics."""
    del node, momentum
    affine = _affine(weight, bias)
    if not affine or running_mean is not None or running_var is not None or not use_input_stats:
        return None
    if input.rank not in (3, 4, 5):
        return None
    args = (
        Arg("num_features", weight.shape[0], positional=True),
        Arg("eps", eps, 1e-5),
        Arg("affine", True, False),
    )
    named = tensors(weight=weight, bias=bias)
    constructor = f"nn.InstanceNorm{_RANK_OF[input.rank]}"
    return Layer(constructor=constructor, args=args + of_dtype(weight), inputs=(input,), role="norm", tensors=named)


@layer("layer_norm", "input normalized_shape weight=None bias=None eps=1e-5")
def layer_norm(node: Node, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: Any) -> Layer | None:
    """`nn.LayerNorm`."""
    del node
    has_bias = bias is not None
    if not weight_of(weight) or (has_bias and not weight_of(bias)):
        return None
    size = tuple(normalized_shape)
    args = (
        Arg("normalized_shape", size[0] if len(size) == 1 else size, positional=True),
        Arg("eps", eps, 1e-5),
        Arg("bias", has_bias, True),
    )
    named = tensors(weight=weight, bias=bias)
    return Layer(constructor="nn.LayerNorm", args=args + of_dtype(weight), inputs=(input,), role="norm", tensors=named)


@layer("rms_norm", "input normalized_shape weight=None eps=None")
def rms_norm(node: Node, input: Any, normalized_shape: Any, weight: Any, eps: Any) -> Layer | None:
    """`nn.RMSNorm`."""
    del node
    if not weight_of(weight):
        return None
    size = tuple(normalized_shape)
    args = (Arg("normalized_shape", size[0] if len(size) == 1 else size, positional=True), Arg("eps", eps, None))
    named = tensors(weight=weight)
    return Layer(constructor="nn.RMSNorm", args=args + of_dtype(weight), inputs=(input,), role="norm", tensors=named)


@layer("group_norm", "input num_groups weight=None bias=None eps=1e-5")
def group_norm(node: Node, input: Any, num_groups: Any, weight: Any, bias: Any, eps: Any) -> Layer | None:
    """`nn.GroupNorm`."""
    del node
    if not _affine(weight, bias):
        return None
    args = (
        Arg("num_groups", num_groups, positional=True),
        Arg("num_channels", weight.shape[0], positional=True),
        Arg("eps", eps, 1e-5),
    )
    named = tensors(weight=weight, bias=bias)
    return Layer(constructor="nn.GroupNorm", args=args + of_dtype(weight), inputs=(input,), role="norm", tensors=named)
