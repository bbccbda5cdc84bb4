"""What the import makes of modes, changes in place and names; the text that comes out of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import migrate
from migrate.errors import MigrateError
from migrate.frontends.pytorch import export_module, load_pytorch
from tests.migrate.frontends.pytorch.models import CASES, GPT, Encoder, Mixer, Shared
from tests.migrate.frontends.pytorch.parity import check, plan_of, text_of


class Of(nn.Module):
    """A function as a module, with a parameter."""

    def __init__(self, function: Callable[[nn.Module, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function
        self.scale = nn.Parameter(torch.full((6,), 1.5))

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self, x * self.scale)


def into_column(m: nn.Module, x: Tensor) -> Tensor:
    x[:, 0] = 1.0
    return x


def into_view(m: nn.Module, x: Tensor) -> Tensor:
    x.view(-1, 2, 3)[:, 1].mul_(2.0)
    return x


def through_transpose(m: nn.Module, x: Tensor) -> Tensor:
    y = x.t()
    y[1:3] += 1.0
    return x + y.t()


def old_view(m: nn.Module, x: Tensor) -> Tensor:
    """A view that was taken before the change shows it."""
    view = x[:, 2:]
    x.add_(1.0)
    return view * 2


def by_index(m: nn.Module, x: Tensor) -> Tensor:
    x[:, torch.tensor([1, 3])] = 0.5
    return x


def by_mask(m: nn.Module, x: Tensor) -> Tensor:
    x[x > 0.5] = 0.0
    return x


def without_gradient(m: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        y = x * 3
    return x * y.detach()


def of_one_result(m: nn.Module, x: Tensor) -> Tensor:
    """One of several results is memory of its own."""
    values, _ = x.topk(3)
    values /= values.sum(-1, keepdim=True).abs() + 1.0
    return values


IN_PLACE = (into_column, into_view, through_transpose, old_view, by_index, by_mask, without_gradient, of_one_result)


@pytest.mark.parametrize("function", IN_PLACE, ids=lambda f: f.__name__)
def test_a_change_in_place(function: Callable[[nn.Module, Tensor], Tensor]) -> None:
    check(Of(function), (torch.randn(4, 6),), (torch.randn(5, 6),))


def always(m: nn.Module, x: Tensor) -> Tensor:
    return F.dropout(x, 0.5)


def never(m: nn.Module, x: Tensor) -> Tensor:
    return F.dropout(x, 0.5, training=False)


def sometimes(m: nn.Module, x: Tensor) -> Tensor:
    return F.dropout(x, 0.5) if m.training else x


DROPOUTS = {always: ["mul", "constant_dropout"], never: ["mul"], sometimes: ["mul", "dropout"]}


@pytest.mark.parametrize("function", DROPOUTS, ids=lambda f: f.__name__)
def test_a_dropout_is_on_when_the_source_has_it_on(function: Callable[[nn.Module, Tensor], Tensor]) -> None:
    graph = load_pytorch(export_module(Of(function), (torch.randn(4, 6),)))
    assert [node.op.name for node in graph.nodes] == DROPOUTS[function]


def test_stochastic_depth_follows_the_mode() -> None:
    text = text_of(plan_of(Mixer(), CASES["mixer"][1]))
    assert "random.drop_path(" in text
    assert ", 0.2, self.training)" in text


def test_attention_drops_in_training_only() -> None:
    text = text_of(plan_of(Encoder(), CASES["encoder"][1]))
    assert "nn.MultiheadAttention(16, 4, dropout=" in text


def test_classes_have_the_authors_names_and_containers_stay() -> None:
    text = text_of(plan_of(GPT(), CASES["gpt"][1]))
    assert "class CausalSelfAttention(nn.Module):" in text
    assert "class GPTBlock(nn.Module):" in text
    assert 'self.transformer["wte"]' in text
    assert 'self.register_buffer("bias", torch.zeros(1, 1, 32, 32), persistent=False)' in text


class Twins(nn.Module):
    """One encoder on two inputs, as in contrastive learning: its statistics see both, and it counts twice."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, 4), layer, nn.Linear(4, 3))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return F.cosine_similarity(self.encoder(a), self.encoder(b))


@pytest.mark.parametrize("layer", [nn.BatchNorm1d(4), nn.Dropout(0.3)])
def test_a_module_that_is_called_twice(layer: nn.Module) -> None:
    check(Twins(layer), (torch.randn(4, 6), torch.randn(4, 6)), (torch.randn(3, 6), torch.randn(3, 6)))


def test_frozen_statistics_stay_frozen() -> None:
    text = text_of(plan_of(Shared(), CASES["shared"][1]))
    assert "class FrozenBatchNorm(nn.Module):" in text
    assert 'nn.ModuleDict({"a-b"' in text


def test_the_python_api_takes_a_module() -> None:
    module = nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval()
    made = migrate.to_module(module, example_inputs=(torch.randn(2, 4),))
    x = torch.randn(5, 4)
    assert torch.allclose(made(x), module(x))
    assert made.state_dict().keys() == module.state_dict().keys()


@torch.library.custom_op("migrate_tests::twice", mutates_args=())
def twice(x: Tensor) -> Tensor:
    return x * 2


@twice.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def with_own_operator(m: nn.Module, x: Tensor) -> Tensor:
    return twice(x)


def with_content_for_a_shape(m: nn.Module, x: Tensor) -> Tensor:
    return torch.unique_consecutive(x)


@pytest.mark.parametrize(
    ("function", "name"), [(with_own_operator, "twice"), (with_content_for_a_shape, "unique_consecutive")]
)
def test_an_operator_that_nothing_reads_is_refused_at_the_users_line(function: Any, name: str) -> None:
    with pytest.raises(MigrateError) as caught:
        load_pytorch(export_module(Of(function), (torch.randn(4, 6),)))
    (found,) = caught.value.diagnostics
    assert found.code == "MIG201" and name in found.what and "test_importer.py" in found.where
