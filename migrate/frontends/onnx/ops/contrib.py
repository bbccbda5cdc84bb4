"""Operators of ONNX Runtime (`com.microsoft`) into which its optimiser joins others: activations, products, normalisations."""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.ops.conv import onnx_conv
from migrate.frontends.onnx.ops.matmul import onnx_gemm, onnx_matmul
from migrate.frontends.onnx.ops.norm import layer_norm, onnx_rms_normalization
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value

MICROSOFT = "com.microsoft"
ACTIVATIONS = {"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh"}


@onnx_op("Gelu", domain=MICROSOFT)
def microsoft_gelu(b: OnnxBuilder, X: Value) -> Value:
    """The exact one."""
    return b.gelu(X)


@onnx_op("FastGelu", domain=MICROSOFT)
def microsoft_fast_gelu(b: OnnxBuilder, X: Value, bias: Value | None = None) -> Value:
    """By tanh, of the sum."""
    return b.gelu(X if bias is None else b.add(X, bias), approximate="tanh")


@onnx_op("BiasGelu", domain=MICROSOFT)
def microsoft_bias_gelu(b: OnnxBuilder, A: Value, B: Value) -> Value:
    """The exact one, of the sum."""
    return b.gelu(b.add(A, B))


@onnx_op("QuickGelu", domain=MICROSOFT)
def microsoft_quick_gelu(b: OnnxBuilder, X: Value, *, alpha: float = 1.702) -> Value:
    """x * sigmoid(alpha * x)."""
    return b.silu(X) if alpha == 1 else b.mul(X, b.sigmoid(b.mul(X, alpha)))


def activated(b: OnnxBuilder, x: Value, name: str, params: Any) -> Value:
    """The activation of a joined convolution or product.

    Raises:
        Unsupported: no such activation is joined by ONNX Runtime.
    """
    if not name:
        return x
    if name in ACTIVATIONS:
        return getattr(b, ACTIVATIONS[name])(x)
    if name == "LeakyRelu":
        return b.leaky_relu(x, params[0] if params else 0.01)
    if name == "Clip":
        return b.clamp(x, params[0], params[1])
    if name == "HardSigmoid":
        alpha, beta = params
        return b.clamp(b.add(b.mul(x, alpha), beta), 0.0, 1.0)
    raise Unsupported(f"a joined activation {name!r}")


@onnx_op("FusedConv", domain=MICROSOFT, learns=("W", "B"))
def microsoft_fused_conv(
    b: OnnxBuilder,
    X: Value,
    W: Value,
    B: Value | None = None,
    Z: Value | None = None,
    *,
    activation: str = "",
    activation_params: Any = (),
    auto_pad: str = "NOTSET",
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    """A convolution, a sum, and an activation, each where it is there."""
    del kernel_shape  # the weight has it
    y = onnx_conv(b, X, W, B, auto_pad=auto_pad, dilations=dilations, group=group, pads=pads, strides=strides)
    return activated(b, y if Z is None else b.add(y, Z), activation, activation_params)


@onnx_op("NhwcFusedConv", domain=MICROSOFT)
def microsoft_nhwc_fused_conv(
    b: OnnxBuilder,
    X: Value,
    W: Value,
    B: Value | None = None,
    Z: Value | None = None,
    *,
    activation: str = "",
    activation_params: Any = (),
    auto_pad: str = "NOTSET",
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    """The same with the channels last; its weight has them first, as ever."""
    del kernel_shape  # the weight has it
    first, last = (0, 3, 1, 2), (0, 2, 3, 1)
    form = {"auto_pad": auto_pad, "dilations": dilations, "group": group, "pads": pads, "strides": strides}
    y = onnx_conv(b, b.permute(X, first), W, B, **form)
    y = y if Z is None else b.add(y, b.permute(Z, first))
    return b.permute(activated(b, y, activation, activation_params), last)


@onnx_op("FusedMatMul", domain=MICROSOFT, learns=("A", "B"))
def microsoft_fused_matmul(
    b: OnnxBuilder,
    A: Value,
    B: Value,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> Value:
    """The scaled product of matrices, of which each may be transposed."""
    if transBatchA or transBatchB:
        raise Unsupported("FusedMatMul with the batch inside")
    left = b.transpose(A, -1, -2) if transA and A.rank > 1 else A
    right = b.permute(B, (1, 0)) if transB and B.rank == 2 else b.transpose(B, -1, -2) if transB and B.rank > 1 else B
    y = onnx_matmul(b, left, right)
    return y if alpha == 1 else b.mul(y, alpha)


@onnx_op("FusedGemm", domain=MICROSOFT, learns=("A", "B", "C"))
def microsoft_fused_gemm(
    b: OnnxBuilder,
    A: Value,
    B: Value,
    C: Value | None = None,
    *,
    activation: str = "",
    activation_alpha: float = 0.01,
    activation_beta: float = 0.0,
    activation_gamma: float = 0.0,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Value:
    """A Gemm and an activation."""
    del activation_gamma
    y = onnx_gemm(b, A, B, C, alpha=alpha, beta=beta, transA=transA, transB=transB)
    return activated(b, y, activation, (activation_alpha, activation_beta))


@onnx_op("SimplifiedLayerNormalization", learns=("scale",))
def microsoft_simplified_layer_normalization(
    b: OnnxBuilder, X: Value, scale: Value, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Value:
    """RMS normalisation, by the name it had before the specification did."""
    if b.num_outputs > 1:
        raise Unsupported("SimplifiedLayerNormalization whose statistics are outputs")
    return onnx_rms_normalization(b, X, scale, axis=axis, epsilon=epsilon, stash_type=stash_type)


def summed(b: OnnxBuilder, x: Value, skip: Value, bias: Value | None) -> Value:
    """What is normalised after a residual connection."""
    total = b.add(x, skip)
    total = total if bias is None else b.add(total, bias)
    if 1 < b.num_outputs < 4:
        raise Unsupported("a joined normalisation whose statistics are outputs")
    return total


@onnx_op("SkipLayerNormalization", domain=MICROSOFT, learns=("gamma", "beta"))
def microsoft_skip_layer_normalization(
    b: OnnxBuilder,
    input: Value,
    skip: Value,
    gamma: Value,
    beta: Value | None = None,
    bias: Value | None = None,
    *,
    epsilon: float = 1e-12,
) -> Any:
    """The sum is the fourth output."""
    total = summed(b, input, skip, bias)
    return layer_norm(b, total, gamma, beta, -1, epsilon), None, None, total


@onnx_op("SkipSimplifiedLayerNormalization", domain=MICROSOFT, learns=("gamma",))
def microsoft_skip_simplified_layer_normalization(
    b: OnnxBuilder, input: Value, skip: Value, gamma: Value, bias: Value | None = None, *, epsilon: float = 1e-12
) -> Any:
    """RMS normalisation of the sum, which is the fourth output."""
    total = summed(b, input, skip, bias)
    return b.rms_norm(total, (total.shape[-1],), gamma, eps=epsilon), None, None, total


@onnx_op(
    "EmbedLayerNormalization",
    domain=MICROSOFT,
    learns=("word_embedding", "position_embedding", "segment_embedding", "gamma", "beta"),
)
def microsoft_embed_layer_normalization(
    b: OnnxBuilder,
    input_ids: Value,
    segment_ids: Value | None = None,
    word_embedding: Any = None,  # given, as all but the segments are: the order of the inputs asks for a default
    position_embedding: Any = None,
    segment_embedding: Value | None = None,
    gamma: Any = None,
    beta: Any = None,
    mask: Value | None = None,
    position_ids: Value | None = None,
    *,
    epsilon: float = 1e-12,
    mask_index_type: int = 0,
) -> Any:
    """The sum of the embeddings, normalised; the second output are the lengths that the mask tells."""
    places = b.unsqueeze(b.arange(input_ids.shape[1]), 0) if position_ids is None else position_ids
    total = b.add(b.embedding(input_ids, word_embedding), b.embedding(places, position_embedding))
    if segment_ids is not None and segment_embedding is not None:
        total = b.add(total, b.embedding(segment_ids, segment_embedding))
    if mask_index_type not in (0, 1):
        raise Unsupported(f"EmbedLayerNormalization with mask_index_type {mask_index_type}")
    if mask is None:
        lengths = b.full((input_ids.shape[0],), 0, dtype="torch.int32")
    else:
        lengths = b.sum(mask, (1,), dtype="torch.int32")
    return layer_norm(b, total, gamma, beta, -1, epsilon), lengths, total
