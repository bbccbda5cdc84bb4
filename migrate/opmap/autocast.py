"""Mixed precision for the traced device: what `torch.autocast` does on an accelerator, by operator.

torch keeps its cast lists in C++ and registers them for its own devices only; the lists are those of
https://docs.pytorch.org/docs/stable/amp.html (CUDA op-specific behaviour). Must not know targets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

Choose = Callable[[list[Tensor], str], torch.dtype]
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


@dataclass(slots=True)
class Autocast:
    """The registered casts; weights are cast once a step, as torch does, until `weights` is cleared."""

    device_type: str
    libraries: list[torch.library.Library] = field(default_factory=list)
    weights: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def castable(self, leaf: Any) -> bool:
        """Whether autocast may change the dtype of an argument."""
        on_device = isinstance(leaf, Tensor) and leaf.device.type == self.device_type
        return on_device and leaf.is_floating_point() and leaf.dtype != torch.float64

    def cast(self, leaf: Any, dtype: torch.dtype) -> Any:
        """The argument in `dtype`."""
        if not self.castable(leaf) or leaf.dtype == dtype:
            return leaf
        if not (leaf.requires_grad and leaf.is_leaf):
            return leaf.to(dtype)
        if id(leaf) not in self.weights:
            self.weights[id(leaf)] = (leaf, leaf.to(dtype))
        return self.weights[id(leaf)][1]

    def kernel(self, operator: Any, choose: Choose) -> Callable[..., Any]:
        """A kernel that casts the arguments and calls the operator without autocast."""
        # A key of the dispatcher that torch's own annotations leave out.
        keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, "AutocastPrivateUse1"))  # noqa: B009

        def run(*args: Any, **kwargs: Any) -> Any:
            with torch._C._ExcludeDispatchKeyGuard(keys):
                tensors = [leaf for leaf in tree_leaves((args, kwargs)) if self.castable(leaf)]
                dtype = choose(tensors, self.device_type)
                args, kwargs = tree_map(lambda leaf: self.cast(leaf, dtype), (args, kwargs))
                return operator(*args, **kwargs)

        return run


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


def register_autocast(device_type: str) -> Autocast:
    """Registers the casts for the renamed device; the result must be kept alive."""
    made = Autocast(device_type)
    fallthrough = torch.library.Library("_", "IMPL")
    fallthrough.fallback(torch.library.fallthrough_kernel, dispatch_key="AutocastPrivateUse1")
    casts = torch.library.Library("aten", "IMPL")
    lists: tuple[tuple[tuple[str, ...], Choose], ...] = (
        (LOWER, lower_dtype),
        (FLOAT32, float32_dtype),
        (PROMOTE, widest_dtype),
    )
    for names, choose in lists:
        for name in names:
            packet, _, overload = name.partition(".")
            operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
            casts.impl(name, made.kernel(operator, choose), "AutocastPrivateUse1")
    made.libraries += [fallthrough, casts]
    return made
