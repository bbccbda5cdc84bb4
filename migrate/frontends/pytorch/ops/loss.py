"""Losses that a model computes itself. ATen numbers the reduction that torch.nn.functional names."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.registry import Handler, aten_op
from migrate.graph import Builder, Value
from migrate.graph.ops import get_op

_REDUCTIONS = ("none", "mean", "sum")
_FUNCTIONS = {"cross_entropy_loss": "cross_entropy", "nll_loss_nd": "nll_loss"}
"""ATen's name and the function's, where they differ."""


def _reader(name: str) -> Handler:
    import torch

    op = get_op(_FUNCTIONS.get(name, name))
    operator: Any = getattr(torch.ops.aten, name).default
    schema = operator._schema.arguments

    def read(b: Builder, *args: Any, **kwargs: Any) -> Value:
        given = dict(zip((a.name for a in schema), args, strict=False)) | kwargs
        tensors = [given[a.name] for a in schema if str(a.type) == "Tensor"]
        defaults = {a.name: a.default_value for a in schema if a.has_default_value()}
        named = {k: v for k, v in list(given.items())[len(tensors) :] if k not in defaults or defaults[k] != v}
        if "reduction" in named:
            named["reduction"] = _REDUCTIONS[named["reduction"]]
        return b.call(op, tuple(tensors), named)

    return read


for _name in (
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy_loss",
    "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss", "multi_margin_loss",
    "multilabel_margin_loss", "nll_loss_nd", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
):  # fmt: skip
    aten_op(f"aten.{_name}")(_reader(_name))
