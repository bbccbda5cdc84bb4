"""Operators of ONNX Runtime (`com.microsoft`) for text whose weights are stored in few bits, or in blocks with scales."""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.float_weights import BNB4, SUFFIX, dequantised, from_bnb4, from_bytes
from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.ops.contrib import MICROSOFT, microsoft_embed_layer_normalization
from migrate.frontends.onnx.ops.contrib_attention import microsoft_attention
from migrate.frontends.onnx.ops.elementwise import cast
from migrate.frontends.onnx.ops.quant import content, real, told
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value


@onnx_op("QAttention", domain=MICROSOFT)
def microsoft_qattention(
    b: OnnxBuilder,
    input: Value,
    weight: Value,
    bias: Value,
    input_scale: Value,
    weight_scale: Value,
    mask_index: Value | None = None,
    input_zero_point: Value | None = None,
    weight_zero_point: Value | None = None,
    past: Value | None = None,
    *,
    do_rotary: int = 0,
    mask_filter_value: float = -10000.0,
    num_heads: int,
    past_present_share_buffer: int = 0,
    scale: float = 0.0,
    unidirectional: int = 0,
) -> Any:
    """Attention of what the numbers stand for; the weight may have a scale for each column."""
    x = real(b, input, input_scale, input_zero_point)
    w = real(b, weight, weight_scale, weight_zero_point, -1)
    form = {"do_rotary": do_rotary, "mask_filter_value": mask_filter_value, "num_heads": num_heads, "scale": scale}
    form |= {"past_present_share_buffer": past_present_share_buffer, "unidirectional": unidirectional}
    return microsoft_attention(b, x, w, bias, mask_index, past, **form)


@onnx_op("QEmbedLayerNormalization", domain=MICROSOFT)
def microsoft_qembed_layer_normalization(
    b: OnnxBuilder, input_ids: Value, *rest: Value | None, epsilon: float = 1e-12
) -> Any:
    """The segments, five tensors, the mask; then for each of the five a scale, and for each a zero point."""
    segments, given, mask, scales, zeros = rest[0], rest[1:6], rest[6], rest[7:12], rest[12:17]
    tensors = [
        None if x is None or s is None else real(b, x, s, z) for x, s, z in zip(given, scales, zeros, strict=True)
    ]
    return microsoft_embed_layer_normalization(b, input_ids, segments, *tensors, mask, epsilon=epsilon)[:2]


@onnx_op("GatherBlockQuantized", domain=MICROSOFT)
def microsoft_gather_block_quantized(
    b: OnnxBuilder,
    data: Value,
    indices: Value,
    scales: Value,
    zero_points: Value | None = None,
    *,
    bits: int = 4,
    block_size: int = 128,
    gather_axis: int = 0,
    quantize_axis: int = 1,
) -> Value:
    """Rows of a table that is stored in blocks of few bits."""
    stored, s, z = data.weight, content(scales), content(zero_points)
    if stored is None or s is None or (zero_points is not None and z is None) or gather_axis % data.rank:
        raise Unsupported("GatherBlockQuantized of a computed table, or along another axis than the first")
    told(b)
    shape = tuple(int(size) for size in data.shape)  # pyright: ignore[reportArgumentType]
    form = {"axis": quantize_axis, "block": block_size}
    read = lambda: dequantised(stored.array(), s, z, **form)  # noqa: E731
    if b.kind(data) == "uint8":
        shape = (*shape[:-1], shape[-1] * 8 // bits)
        read = lambda: from_bytes(stored.array(), s, z, bits, **form)  # noqa: E731
    table = b.source(f"{stored.source}{SUFFIX}", read, "float32", shape)
    return b.embedding(indices, table) if len(shape) == 2 else b.getitem(table, indices)


@onnx_op("MatMulBnb4", domain=MICROSOFT)
def microsoft_matmul_bnb4(
    b: OnnxBuilder,
    A: Value,
    B: Value,
    absmax: Value,
    *,
    K: int,
    N: int,
    block_size: int,
    quant_type: int,
    training_mode: int = 0,
    transB: int = 1,
) -> Value:
    """A `linear` whose weight is stored in 4 bits as bitsandbytes does: floats, or quantiles of a normal distribution."""
    del training_mode  # whether the engine can compute gradients
    stored, largest = B.weight, content(absmax)
    if stored is None or largest is None or not transB or quant_type not in range(len(BNB4)):
        raise Unsupported("MatMulBnb4 of a computed weight, or one that is stored by columns")
    told(b)
    read = lambda: from_bnb4(stored.array(), largest, K, N, quant_type, block_size)  # noqa: E731
    return b.linear(cast(b, A, "float32"), b.source(f"{stored.source}{SUFFIX}", read, "float32", (N, K)))
