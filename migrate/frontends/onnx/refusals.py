"""Why operators are refused that no handler will take. Knows names only."""

from __future__ import annotations

_DATA = "the size of its result depends on the data"
_TEXT = "it works on text, which no tensor of a training package holds"
_STEP = "it is a step of an optimiser and no part of a forward; the package has optimisers of its own"
_TREES = "trees are not differentiable: there is nothing that gradients could train"
_WHY = {
    _DATA: ("Unique", "NonMaxSuppression"),
    _TEXT: ("StringConcat", "StringNormalizer", "StringSplit", "RegexFullMatch", "ai.onnx.ml::CategoryMapper"),
    _STEP: tuple(f"ai.onnx.preview.training::{name}" for name in ("Adagrad", "Adam", "Gradient", "Momentum")),
    _TREES: tuple(
        f"ai.onnx.ml::{name}" for name in ("TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor")
    ),
    "it reads compressed images: decode them before, as data": ("ImageDecoder",),
}
REASONS = {name: why for why, names in _WHY.items() for name in names}
