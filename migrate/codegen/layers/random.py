"""Dropout as a module, which follows `train()` and `eval()`."""

from __future__ import annotations

from typing import Any

from migrate.codegen.layers import Arg, Layer, layer
from migrate.graph.ir import ByMode, Node


@layer("dropout", "input p=0.5 training=True inplace=False")
def dropout(node: Node, input: Any, p: Any, training: Any, inplace: Any) -> Layer | None:
    """`nn.Dropout`."""
    del node, training, inplace
    args = (Arg("p", p, 0.5, positional=True, config="dropout"),)
    return Layer(constructor="nn.Dropout", args=args, inputs=(input,), role="dropout")


@layer("alpha_dropout", "input p=0.5 training=False inplace=False")
def alpha_dropout(node: Node, input: Any, p: Any, training: Any, inplace: Any) -> Layer | None:
    """`nn.AlphaDropout`."""
    del node, training, inplace
    args = (Arg("p", p, 0.5, positional=True, config="dropout"),)
    return Layer(constructor="nn.AlphaDropout", args=args, inputs=(input,), role="dropout")


_RANK_OF = {3: "1d", 4: "2d", 5: "3d"}


@layer("feature_dropout", "input p train")
def feature_dropout(node: Node, input: Any, p: Any, train: Any) -> Layer | None:
    """`nn.Dropout1d`, `nn.Dropout2d`, `nn.Dropout3d`."""
    del node
    if train != ByMode(True, False) or input.rank not in _RANK_OF:
        return None
    args = (Arg("p", p, 0.5, positional=True, config="dropout"),)
    return Layer(constructor=f"nn.Dropout{_RANK_OF[input.rank]}", args=args, inputs=(input,), role="dropout")


@layer("feature_alpha_dropout", "input p train")
def feature_alpha_dropout(node: Node, input: Any, p: Any, train: Any) -> Layer | None:
    """`nn.FeatureAlphaDropout`."""
    del node
    if train != ByMode(True, False):
        return None
    args = (Arg("p", p, 0.5, positional=True, config="dropout"),)
    return Layer(constructor="nn.FeatureAlphaDropout", args=args, inputs=(input,), role="dropout")
