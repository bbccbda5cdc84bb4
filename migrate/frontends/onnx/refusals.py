"""Why operators are refused that no handler will take. Knows names only."""

from __future__ import annotations

_DATA = "the size of its result depends on the data"
_TEXT = "it works on text, which no tensor of a training package holds"
_STEP = "it is a step of an optimiser and no part of a forward; the package has optimisers of its own"
_TREES = "trees are not differentiable: there is nothing that gradients could train"
_SEARCH = "it generates text with a model that it holds inside; convert that model by itself"
_ELSEWHERE = "ONNX Runtime runs it on other devices only, so that nothing could be proven here"
_LAYOUT = "it is a layout of one kind of processor; save the model with graph optimisation no higher than `extended`"
_BLOCKED = (
    "AveragePool",
    "Conv",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "MaxPool",
    "ReorderInput",
    "ReorderOutput",
    "Upsample",
)
_GPU = (
    "BiasAdd", "BiasDropout", "BiasSoftmax", "BiasSplitGelu", "BitmaskBiasDropout", "BitmaskDropout", "DecoderAttention",
    "DecoderMaskedSelfAttention", "DequantizeWithOrder", "FusedMatMulActivation", "GatedRelativePositionBias", "GemmFastGelu",
    "GemmFloat8", "GroupNorm", "LongformerAttention", "NhwcConv", "PackedAttention", "PackedMultiHeadAttention",
    "PagedAttention", "QOrderedAttention", "QOrderedGelu", "QOrderedLayerNormalization", "QOrderedLongformerAttention",
    "QOrderedMatMul", "QuantizeWithOrder", "RelativePositionBias", "RemovePadding", "RestorePadding", "SkipGroupNorm",
)  # fmt: skip
_WHY = {
    _DATA: ("Unique", "NonMaxSuppression"),
    _TEXT: ("StringConcat", "StringNormalizer", "StringSplit", "RegexFullMatch", "ai.onnx.ml::CategoryMapper"),
    _STEP: tuple(f"ai.onnx.preview.training::{name}" for name in ("Adagrad", "Adam", "Gradient", "Momentum")),
    _TREES: tuple(
        f"ai.onnx.ml::{name}" for name in ("TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor")
    ),
    _SEARCH: tuple(
        f"com.microsoft::{name}" for name in ("BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch")
    ),
    _ELSEWHERE: tuple(f"com.microsoft::{name}" for name in _GPU),
    _LAYOUT: tuple(f"com.microsoft.nchwc::{name}" for name in _BLOCKED),
    "it reads compressed images: decode them before, as data": ("ImageDecoder",),
}
REASONS = {name: why for why, names in _WHY.items() for name in names}
