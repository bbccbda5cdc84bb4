"""The signature of every kernel: shapes, meaning and source. Holds no arithmetic and knows no device.

Shape letters: B batch, H heads, S sequence, D features, V classes, N rows; `...` is any number of leading dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from torch import Tensor

from .dispatch import call, run_reference


def rms_norm(x: Tensor, weight: Tensor | None, eps: float = 1e-6) -> Tensor:
    """Root-mean-square normalisation over the last dimension: `x / sqrt(mean(x^2) + eps) * weight`.

    Args:
        x: (..., D).
        weight: (D,), or None for no scale; cast to the dtype of `x`.
        eps: added to the mean square.

    Returns:
        (..., D), in the dtype of `x`.

    Source: Zhang and Sennrich 2019, arXiv:1910.07467; `torch.nn.functional.rms_norm`.
    """
    return call("rms_norm", x, weight, eps)


@overload
def layer_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float = 1e-5, residual: None = None
) -> Tensor: ...


@overload
def layer_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float = 1e-5, *, residual: Tensor
) -> tuple[Tensor, Tensor]: ...


def layer_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float = 1e-5, residual: Tensor | None = None
) -> Tensor | tuple[Tensor, Tensor]:
    """Layer normalisation over the last dimension, of `x` or of `x + residual`.

    Args:
        x: (..., D).
        weight: (D,) or None.
        bias: (D,) or None.
        eps: added to the variance.
        residual: (..., D), added to `x` first.

    Returns:
        (..., D); with `residual` the pair (normalised sum, sum), since the sum is what the next residual branch needs.

    Source: Ba et al. 2016, arXiv:1607.06450; `torch.nn.functional.layer_norm`.
    """
    return call("layer_norm", x, weight, bias, eps, residual)


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """Gaussian error linear unit, exact ("none") or by tanh ("tanh"); any shape.

    Source: Hendrycks and Gimpel 2016, arXiv:1606.08415; `torch.nn.functional.gelu`.
    """
    return call("gelu", x, approximate)


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """`silu(gate) * up`, both of one shape (..., D).

    Source: Shazeer 2020, arXiv:2002.05202.
    """
    return call("swiglu", gate, up)


def rope(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False) -> Tensor:
    """Rotary position embedding of `x` by the angles whose cosine and sine are given.

    Args:
        x: (..., S, D), D even.
        cos: (S, D/2), or any shape that broadcasts to (..., S, D/2).
        sin: as `cos`.
        interleaved: rotate the pairs (0, 1), (2, 3), ... as GPT-J does; otherwise (i, i + D/2) as GPT-NeoX and Llama
            do.

    Returns:
        (..., S, D), in the dtype of `x`.

    Source: Su et al. 2021, arXiv:2104.09864.
    """
    return call("rope", x, cos, sin, interleaved)


def sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    dropout: float = 0.0,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Scaled dot-product attention.

    Args:
        query: (..., H, S, D).
        key: (..., H or a divisor of it with `enable_gqa`, S', D).
        value: as `key`, features may differ.
        mask: boolean (True takes part) or additive, broadcastable to (..., H, S, S').
        causal: mask out later positions; not together with `mask`.
        dropout: probability. Above zero the reference runs: no proof compares random numbers.
        scale: of the scores; 1/sqrt(D) by default.
        enable_gqa: repeat key and value heads to the number of query heads.

    Source: `torch.nn.functional.scaled_dot_product_attention`.
    """
    args = (query, key, value, mask, causal, dropout, scale, enable_gqa)
    return run_reference("sdpa", *args) if dropout > 0.0 else call("sdpa", *args)


def linear_cross_entropy(
    x: Tensor,
    weight: Tensor,
    target: Tensor,
    bias: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Cross entropy of `linear(x, weight, bias)`, which an implementation need not hold in memory at once.

    Args:
        x: (..., D), features.
        weight: (V, D), the classifier.
        target: (...), int64 class indices in [0, V), or `ignore_index`.
        bias: (V,) or None.
        ignore_index: rows with this target count neither in the loss nor in the mean.
        reduction: "mean" over the rows that count, or "sum".

    Returns:
        A scalar, in float32 when the features are of half precision; NaN for the mean over no rows.

    Source: Wijmans et al. 2024, arXiv:2411.09009 (Cut Cross-Entropy); Liger-Kernel's `fused_linear_cross_entropy`.
    """
    if reduction not in ("mean", "sum"):
        raise ValueError(f"reduction is {reduction!r}, expected 'mean' or 'sum'")
    return call("linear_cross_entropy", x, weight, target, bias, ignore_index, reduction)


def adamw(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    steps: Sequence[Tensor],
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
) -> None:
    """One AdamW step over lists of tensors, in place; to be called without gradient recording.

    Args:
        params: any shapes; updated.
        grads: as `params`; read only.
        exp_avgs: first moments, as `params`; updated.
        exp_avg_sqs: second moments, as `params`; updated.
        steps: scalar tensors, the number of steps done so far; each is increased by one.
        lr: learning rate.
        beta1: decay of the first moment.
        beta2: decay of the second moment.
        eps: added to the root of the corrected second moment.
        weight_decay: decoupled decay, times `lr`.

    Source: Loshchilov and Hutter 2017, arXiv:1711.05101; `torch.optim.AdamW`.
    """
    lists = (list(params), list(grads), list(exp_avgs), list(exp_avg_sqs), list(steps))
    call("adamw", *lists, lr, beta1, beta2, eps, weight_decay)
