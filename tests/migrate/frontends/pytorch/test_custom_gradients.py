"""Functions with a backward of their own, and hooks: what comes along, what is said, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from migrate.errors import MigrateError
from migrate.frontends.pytorch import export_module
from tests.migrate.frontends.pytorch.parity import check

X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))


class Square(torch.autograd.Function):
    """Saves memory, and is the derivative."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * grads[0]


class Scaled(torch.autograd.Function):
    """The same number, five times the gradient; the newer form, which sets up its context apart."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x * 1.0

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return 5 * grads[0]


class Opaque(Square):
    """Needs more of its context than can be given without it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        assert isinstance(ctx, torch.autograd.function.FunctionCtx)
        ctx.save_for_backward(x)
        return x * x


class Net(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.layer, self.function = nn.Linear(4, 4), function

    def forward(self, x: Tensor) -> Tensor:
        y = self.layer(x)
        return y if self.function is None else self.function.apply(y)


def said(module: nn.Module) -> list[str]:
    return [note.code for note in export_module(module, (X,)).notes]


@pytest.mark.parametrize("function", [Square, Opaque])
def test_a_backward_that_is_the_derivative_is_replaced_by_it(function: Any) -> None:
    assert said(Net(function)) == ["MIG327"]
    check(Net(function), (X,))


def test_another_backward_is_refused_at_its_line() -> None:
    with pytest.raises(MigrateError) as caught:
        export_module(Net(Scaled), (X,))
    (found,) = caught.value.diagnostics
    assert found.code == "MIG330" and "Scaled" in found.what and "test_custom_gradients.py" in found.where


def test_hooks() -> None:
    module = Net(None)
    module.layer.register_forward_hook(lambda *given: given[2] * 3)
    assert said(module) == []
    check(module, (X,))
    module.layer.register_full_backward_hook(lambda *_: None)
    module.layer.weight.register_hook(lambda grad: grad * 2)
    assert said(module) == ["MIG328", "MIG328"]
