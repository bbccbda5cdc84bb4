"""Mixed precision for the traced device: what `torch.autocast` does on an accelerator, by operator.

torch keeps its cast lists in C++ and registers them for its own devices only; the lists are those of
https://docs.pytorch.org/docs/stable/amp.html (CUDA op-specific behaviour). Must not know targets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

LOWER = (
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d.input",
    "conv_transpose3d.input",
    "convolution",
    "prelu",
    "addmm",
    "addmv",
    "addr",
    "matmul",
    "einsum",
    "mm",
    "mv",
    "linear",
    "addbmm",
    "baddbmm",
    "bmm",
    "chain_matmul",
    "linalg_multi_dot",
    "_thnn_fused_lstm_cell",
    "_thnn_fused_gru_cell",
    "lstm_cell",
    "gru_cell",
    "rnn_tanh_cell",
    "rnn_relu_cell",
    "scaled_dot_product_attention",
)
FLOAT32 = (
    "acos",
    "asin",
    "cosh",
    "erfinv",
    "exp",
    "expm1",
    "log",
    "log10",
    "log2",
    "log1p",
    "reciprocal",
    "rsqrt",
    "sinh",
    "tan",
    "pow.Tensor_Scalar",
    "pow.Tensor_Tensor",
    "pow.Scalar",
    "softplus",
    "layer_norm",
    "native_layer_norm",
    "group_norm",
    "norm.Scalar",
    "norm.ScalarOpt_dim",
    "cosine_similarity",
    "poisson_nll_loss",
    "cosine_embedding_loss",
    "nll_loss",
    "nll_loss2d",
    "hinge_embedding_loss",
    "kl_div",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "mse_loss",
    "margin_ranking_loss",
    "multilabel_margin_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "multi_margin_loss",
    "binary_cross_entropy_with_logits",
    "dist",
    "pdist",
    "cdist",
    "renorm",
    "logsumexp",
    "softmax.int",
    "log_softmax.int",
    "cumprod",
    "cumsum",
    "prod",
    "prod.dim_int",
    "sum",
    "sum.dim_IntList",
    "rms_norm",
    "cross_entropy_loss",
)
PROMOTE = (
    "addcdiv",
    "addcmul",
    "atan2",
    "bilinear",
    "cross",
    "dot",
    "grid_sampler",
    "index_put",
    "tensordot",
    "scatter_add",
    "cat",
    "stack",
    "vdot",
)


def register_autocast(device_type: str) -> list[torch.library.Library]:
    """Registers the casts for the renamed device; the libraries must be kept alive."""
    fallthrough = torch.library.Library("_", "IMPL")
    fallthrough.fallback(torch.library.fallthrough_kernel, dispatch_key="AutocastPrivateUse1")
    casts = torch.library.Library("aten", "IMPL")
    lists = ((LOWER, lower_dtype), (FLOAT32, float32_dtype), (PROMOTE, widest_dtype))
    for names, choose in lists:
        for name in names:
            packet, _, overload = name.partition(".")
            operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
            casts.impl(name, cast_kernel(operator, choose, device_type), "AutocastPrivateUse1")
    return [fallthrough, casts]


def lower_dtype(tensors: list[Tensor], device_type: str) -> torch.dtype:
    """The dtype that autocast was entered with."""
    return torch.get_autocast_dtype(device_type)


def float32_dtype(tensors: list[Tensor], device_type: str) -> torch.dtype:
    """Where half precision would lose the result."""
    return torch.float32


def widest_dtype(tensors: list[Tensor], device_type: str) -> torch.dtype:
    """The widest among the arguments, which must agree."""
    lower = torch.get_autocast_dtype(device_type)
    return torch.float32 if any(t.dtype == torch.float32 for t in tensors) else lower


def cast_kernel(
    operator: Any, choose: Callable[[list[Tensor], str], torch.dtype], device_type: str
) -> Callable[..., Any]:
    """A kernel that casts the floating arguments on the device and calls the operator without autocast."""

    def castable(leaf: Any) -> bool:
        on_device = isinstance(leaf, Tensor) and leaf.device.type == device_type
        return on_device and leaf.is_floating_point() and leaf.dtype != torch.float64

    # A key of the dispatcher that torch's own annotations leave out.
    key = getattr(torch._C.DispatchKey, "AutocastPrivateUse1")  # noqa: B009

    def kernel(*args: Any, **kwargs: Any) -> Any:
        guard = torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(key))
        with guard:
            tensors = [leaf for leaf in tree_leaves((args, kwargs)) if castable(leaf)]
            dtype = choose(tensors, device_type)
            args, kwargs = tree_map(lambda leaf: leaf.to(dtype) if castable(leaf) else leaf, (args, kwargs))
            return operator(*args, **kwargs)

    return kernel
