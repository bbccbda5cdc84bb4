"""`nn.MultiheadAttention` comes back as itself where it is called as itself, and in pieces or as a call elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations

import migrate
from migrate.options import Options
from tests.migrate.frontends.pytorch.parity import check

WHOLE = "nn.MultiheadAttention("
X, Y = torch.randn(4, 5, 8), torch.randn(4, 7, 8)
CAUSAL = torch.ones(5, 5, dtype=torch.bool).triu(1)


class Attending(nn.Module):
    """Attention, called in some way, after a normalisation."""

    def __init__(self, attend: Callable[..., Any], **options: Any) -> None:
        super().__init__()
        self.norm, self.attn, self.attend = nn.LayerNorm(8), nn.MultiheadAttention(8, 2, **options), attend
        self.register_buffer("mask", CAUSAL)

    def forward(self, *inputs: Tensor) -> Any:
        first, *rest = inputs
        return self.attend(self, self.norm(first), *rest)


def padded(m: Any, x: Tensor, keep: Tensor) -> Tensor:
    return m.attn(x, x, x, key_padding_mask=keep < -1.5, need_weights=False)[0]


WAYS: dict[str, tuple[Callable[..., Any], dict[str, Any], tuple[Tensor, ...]]] = {
    "self": (lambda m, x: m.attn(x, x, x, need_weights=False)[0], {"batch_first": True, "dropout": 0.1}, (X,)),
    "weights": (lambda m, x: m.attn(x, x, x), {"batch_first": True}, (X,)),
    "weights of each head": (lambda m, x: m.attn(x, x, x, average_attn_weights=False), {"batch_first": True}, (X,)),
    "across": (lambda m, x, y: m.attn(x, y, y, need_weights=False)[0], {"batch_first": True, "bias": False}, (X, Y)),
    "causal": (
        lambda m, x: m.attn(x, x, x, attn_mask=m.mask, is_causal=True, need_weights=False)[0], {"batch_first": True}, (X,),
    ),
    "a mask of numbers": (lambda m, x, y: m.attn(x, x, x, attn_mask=y[0])[0], {"batch_first": True}, (X, torch.randn(4, 5, 5))),
    "padded": (padded, {"batch_first": True}, (X, torch.randn(4, 5))),
    "time first": (lambda m, x: m.attn(x.transpose(0, 1), x.transpose(0, 1), x.transpose(0, 1))[0].transpose(0, 1), {}, (X,)),
    "other widths": (
        lambda m, x, k, v: m.attn(x, k, v)[0], {"batch_first": True, "kdim": 6, "vdim": 4},
        (X, torch.randn(4, 7, 6), torch.randn(4, 7, 4)),
    ),
    "more keys": (lambda m, x: m.attn(x, x, x)[0], {"batch_first": True, "add_bias_kv": True, "add_zero_attn": True}, (X,)),
    "twice": (lambda m, x: m.attn(m.attn(x, x, x)[0], x, x)[0], {"batch_first": True}, (X,)),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_it_is_the_module_again(way: str) -> None:
    attend, options, example = WAYS[way]
    text = check(Attending(attend, **options), example)
    assert text.count(WHOLE) == 1 and "out_proj" not in text


class Halved(nn.MultiheadAttention):
    """The user's own attention, which does more."""

    def forward(self, query: Tensor) -> Tensor:
        return super().forward(query, query, query, need_weights=False)[0] / 2


def own() -> nn.Module:
    return Halved(8, 2, batch_first=True)


def reparametrised() -> nn.Module:
    made = Attending(lambda m, x: m.attn(x, x, x)[0], batch_first=True)
    parametrizations.weight_norm(made.attn, "in_proj_weight")
    return made


def frozen() -> nn.Module:
    made = Attending(lambda m, x: m.attn(x, x, x)[0], batch_first=True)
    made.attn.out_proj.requires_grad_(False)
    return made


@pytest.mark.parametrize(("make", "whole"), [(own, 0), (reparametrised, 0), (frozen, 1)])
def test_what_is_not_just_the_module_stays_right(make: Callable[[], nn.Module], whole: int) -> None:
    assert check(make(), (X,)).count(WHOLE) == whole


def test_two_rates_of_dropout_stay_two() -> None:
    source = Attending(
        lambda m, x: nn.functional.dropout(m.attn(x, x, x)[0], 0.3, m.training), batch_first=True, dropout=0.1
    )
    text = check(source, (X,))
    assert "dropout=0.1" in text and "nn.Dropout(0.3)" in text


def test_layers_of_transformers_read_as_their_source() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    text = check(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (X,))
    assert "self.self_attn(" in text and text.count(WHOLE) == 1


def test_a_package_is_verified_and_drawn_afresh(tmp_path: Path) -> None:
    torch.manual_seed(0)
    source = Attending(lambda m, x: m.attn(x, x, x, need_weights=False)[0], batch_first=True)
    report = migrate.convert(source, "cpu", tmp_path / "out", Options(name="m"), example_inputs=(X,))
    assert report.verdict.outcome == "verified"
    text = (tmp_path / "out" / "m" / "model.py").read_text()
    assert WHOLE in text and "_reset_parameters()" in text
