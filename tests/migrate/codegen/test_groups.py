"""What becomes a module in a source that names none: what comes again and again, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from migrate.codegen import to_module

Makes = Callable[[Any, Any], Any]


def scaled(net: Any, x: Any, width: int) -> Any:
    """A convolution, a learned scale and offset, an activation."""
    x = net.conv2d(x, net.tensor_of(width, x.shape[1], 3, 3), None, 1, 1)
    return net.hardswish(net.add(net.mul(x, net.tensor_of(1)), net.tensor_of(1)))


def chain(net: Any, x: Any) -> Any:
    for width in range(4, 12):
        x = scaled(net, x, width)
    return x


def residual(net: Any, x: Any) -> Any:
    x = net.conv_norm(x, 4)
    for _ in range(6):
        x = net.relu(net.add(x, net.conv_norm(net.conv_norm(x, 4), 4, act=False)))
    return x


def gated(net: Any, x: Any) -> Any:
    for width in (4, 6, 8):
        x = net.conv_norm(net.conv_norm(x, width), width)
        gate = net.relu(net.conv2d(net.mean(x, (2, 3), True), net.tensor_of(2, width, 1, 1), None))
        x = net.mul(x, net.sigmoid(net.conv2d(gate, net.tensor_of(width, 2, 1, 1), None)))
    return x


def woven(net: Any, x: Any) -> Any:
    """Two equal branches whose nodes take turns, as an exporter may write them."""
    branches = [net.conv_norm(x, 4), net.conv_norm(x, 4), net.conv_norm(x, 4)]
    for step in (net.exp, net.neg, net.tanh, net.abs, net.sin, net.cos, net.sigmoid, net.sqrt):
        branches = [step(branch) for branch in branches]
    return net.cat(branches, 1)


CASES: dict[str, tuple[Makes, list[str]]] = {
    "a chain of cells": (
        chain,
        ["ConvScaleHardswish(3, 4)", "self.convs = nn.Sequential(", "return self.head(self.convs(x)"],
    ),
    "residual blocks": (
        residual,
        [
            "self.stem = ConvNormReLU(3, width=config.width)",
            "Block(width=config.width) for _ in range(config.num_layers)",
        ],
    ),
    "blocks with a gate": (gated, ["nn.Sequential(Block(3, 4), Block(4, 6), Block(6, 8))"]),
    "branches whose nodes take turns": (woven, ["self.conv3 = Conv(width=config.width)", "used 3 times"]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_comes_again_is_one_class(name: str, net: Any, agrees: Any, model_text: Any) -> None:
    makes, said = CASES[name]
    x = makes(net, net.batch(3, 8, 8))
    plan = net.plan(net.dense(net.mean(x, (2, 3)), 3))
    text = model_text(plan)
    assert [line for line in said if line not in text] == [], text
    agrees(plan, torch.randn(2, 3, 8, 8))


def test_what_differs_in_its_calls_stays_apart(net: Any, model_text: Any) -> None:
    x = net.batch(3, 8, 8)
    for step in (net.relu, net.tanh, net.sigmoid, net.silu, net.exp, net.sin, net.cos, net.neg, net.abs):
        x = step(net.conv2d(x, net.tensor_of(3, 3, 3, 3), None, 1, 1))
    text = model_text(net.plan(net.dense(net.mean(net.tanh(net.cos(net.sin(net.exp(x)))), (2, 3)), 3)))
    assert text.count("class ") == 1


def test_a_padding_that_keeps_the_size_follows_the_kernel(net: Any, model_text: Any) -> None:
    x = net.batch(3, 8, 8)
    for scope, size in (("a", 3), ("b", 5), ("c", 1)):
        with net.at((scope,), scope):
            x = net.tanh(net.conv2d(x, net.tensor_of(3, 3, size, size), None, 1, size // 2))
    text = model_text(net.plan(net.dense(net.mean(x, (2, 3)), 3)))
    assert "padding=kernel_size // 2" in text
    assert "padding: int" not in text


def test_a_default_of_a_layer_is_one_of_its_class(net: Any, model_text: Any) -> None:
    x = net.batch(3, 16, 16)
    for scope, stride in (("a", 1), ("b", 2), ("c", 1)):
        with net.at((scope,), scope):
            x = net.tanh(net.conv2d(x, net.tensor_of(3, 3, 3, 3), None, stride, 1))
    text = model_text(net.plan(net.dense(net.mean(x, (2, 3)), 3)))
    assert "stride: int = 1" in text and "ConvTanh(stride=2)" in text and "ConvTanh()" in text


def test_groups_have_a_gradient(net: Any) -> None:
    plan = net.plan(net.dense(net.mean(residual(net, net.batch(3, 8, 8)), (2, 3)), 3))
    module: Any = to_module(plan)
    module.train()
    module(torch.randn(4, 3, 8, 8)).square().sum().backward()
    assert all(p.grad is not None for p in module.parameters())
