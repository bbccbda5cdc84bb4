"""Autocast for the emulated device: which operators run in low precision and which in float32, as torch casts on CUDA.

The lists are those of torch's own autocast (`aten/src/ATen/autocast_mode.h`, version 2.13). Knows no profile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

LOWER = """
_convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution prelu addmm
addmv addr matmul einsum mm mv linalg_vecdot linear addbmm baddbmm bmm chain_matmul linalg_multi_dot
_thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell scaled_dot_product_attention
"""

FLOAT32 = """
acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus layer_norm
native_layer_norm group_norm frobenius_norm nuclear_norm cosine_similarity poisson_nll_loss cosine_embedding_loss
nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss
multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits dist
pdist cdist renorm logsumexp upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d
upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d prod softmax log_softmax cumprod cumsum sum norm
"""

PROMOTE = """
addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add cat stack
"""


def _eligible(value: Any, device_type: str) -> bool:
    return (
        isinstance(value, Tensor)
        and value.device.type == device_type
        and value.is_floating_point()
        and value.dtype != torch.float64
    )


def _cast(values: Any, device_type: str, dtype: torch.dtype) -> Any:
    return tree_map(lambda v: v.to(dtype) if _eligible(v, device_type) else v, values)


def _widest(values: Any, device_type: str) -> torch.dtype | None:
    dtypes = {v.dtype for v in tree_leaves(values) if _eligible(v, device_type)}
    if len(dtypes) < 2:
        return None
    return torch.float32


def _kernel(op: Any, device_type: str, choose: Callable[[Any], torch.dtype | None]) -> Callable[..., Any]:
    """Cast to the chosen dtype and call `op` again, below autocast."""
    dispatch_key: Any = torch._C.DispatchKey
    keys: Any = torch._C.DispatchKeySet(dispatch_key.AutocastPrivateUse1)

    def autocast_kernel(*args: Any, **kwargs: Any) -> Any:
        dtype = choose((args, kwargs))
        with torch._C._ExcludeDispatchKeyGuard(keys):
            if dtype is not None:
                args, kwargs = _cast((args, kwargs), device_type, dtype)
            return op(*args, **kwargs)

    return autocast_kernel


def _overloads(name: str) -> list[Any]:
    """The overloads of an operator that compute into fresh tensors."""
    packet = getattr(torch.ops.aten, name)
    overloads = [getattr(packet, overload) for overload in packet.overloads()]
    return [op for op in overloads if not op._schema.is_mutable]


def register(device_type: str) -> list[torch.library.Library]:
    """Register the cast kernels; they live as long as the libraries that come back."""
    rest = torch.library.Library("_", "IMPL")
    rest.fallback(torch.library.fallthrough_kernel, dispatch_key="AutocastPrivateUse1")
    aten = torch.library.Library("aten", "IMPL")
    rules: list[tuple[str, Callable[[Any], torch.dtype | None]]] = [
        (LOWER, lambda values: torch.get_autocast_dtype(device_type)),
        (FLOAT32, lambda values: torch.float32),
        (PROMOTE, lambda values: _widest(values, device_type)),
    ]
    for names, choose in rules:
        for op in (op for name in names.split() for op in _overloads(name)):
            aten.impl(op, _kernel(op, device_type, choose), "AutocastPrivateUse1")
    return [rest, aten]
