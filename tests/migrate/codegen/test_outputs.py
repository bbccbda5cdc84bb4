"""Outputs in any order, and the loss that each gets."""

from __future__ import annotations

import ast
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from migrate.codegen import Settings, render_package, to_module
from migrate.errors import MigrateError


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (0, 0, 2), (2, 2)])
def test_outputs_in_any_order_inputs_among_them(net: Any, agrees: Any, order: tuple[int, ...]) -> None:
    x = net.batch(4)
    values = [net.relu(x), net.softmax(net.dense(x, 3), -1), x]
    agrees(net.plan(*(values[k] for k in order)), torch.randn(3, 4)) if order != (2, 2) else None
    if order == (2, 2):
        with pytest.raises(MigrateError, match="MIG310"):
            net.plan(x, x)


@pytest.mark.parametrize(
    ("final", "loss", "kind"),
    [
        ("softmax", "auto", "cross_entropy"), ("log_softmax", "auto", "cross_entropy"), ("sigmoid", "auto", "bce"),
        ("relu", "auto", "mse"), ("softmax", "mse", "mse"), ("relu", "cross_entropy", "cross_entropy"),
    ],
)  # fmt: skip
def test_the_loss_fits_the_output(net: Any, final: str, loss: str, kind: str) -> None:
    x = net.dense(net.batch(4), 3)
    args = (-1,) if "softmax" in final else ()
    plan = net.plan(getattr(net, final)(x, *args), settings=Settings(loss=loss))
    (term,) = plan.losses
    assert term.kind == kind
    assert term.target.dtype == ("int64" if kind == "cross_entropy" else "float32")
    assert term.target.shape == (("batch",) if kind == "cross_entropy" else ("batch", 3))


def test_logits_are_what_forward_activates(net: Any, agrees: Any) -> None:
    x = net.batch(4)
    h = net.dense(x, 6)
    plan = net.plan(net.softmax(h, -1), h, net.sigmoid(net.dense(x, 2)))
    module: Any = agrees(plan, torch.randn(3, 4))
    inputs = torch.randn(3, 4)
    logits, same, gate = module.logits(inputs)
    torch.testing.assert_close(module(inputs)[0], torch.softmax(logits, -1))
    torch.testing.assert_close(module(inputs)[2], torch.sigmoid(gate))
    assert torch.equal(logits, same) and [t.kind for t in plan.losses] == ["cross_entropy", "mse", "bce"]


def test_an_activation_that_is_used_again_leaves_the_other_losses_on_logits(net: Any) -> None:
    """The softmax is no final one, since its result is used; the sigmoid's loss takes logits all the same."""
    x = net.batch(4)
    used = net.softmax(net.dense(x, 3), -1)
    plan = net.plan(net.sigmoid(net.dense(x, 2)), used, net.mul(used, used))
    loss = render_package(plan)[f"{plan.name}/loss.py"]
    assert "binary_cross_entropy_with_logits(outputs[0]" in loss and "model.logits(*inputs)" in loss


def test_a_loss_on_an_activated_value_leaves_the_others_on_logits(net: Any) -> None:
    """A softmax over the batch has no classes: its loss is on probabilities, which logits are turned into first."""
    x = net.batch(4)
    scores = net.softmax(net.reshape(net.dense(x, 1), (-1,)), 0)
    plan = net.plan(net.sigmoid(net.dense(x, 2)), scores, net.softmax(net.dense(x, 3), -1))
    found: dict[str, Any] = {"F": F, "torch": torch, "Tensor": torch.Tensor, "nn": torch.nn}
    functions = [n for n in ast.parse(render_package(plan)["net/loss.py"]).body if isinstance(n, ast.FunctionDef)]
    exec("\n".join(ast.unparse(function) for function in functions), found)
    targets = torch.rand(3, 2), torch.rand(3), torch.tensor([0, 2, 1])
    module: Any = to_module(plan)
    logits = module.logits(inputs := torch.randn(3, 4))
    meant = F.binary_cross_entropy_with_logits(logits[0], targets[0]) + F.cross_entropy(logits[2], targets[2])
    meant = meant + F.mse_loss(module(inputs)[1], targets[1])
    torch.testing.assert_close(found["compute_loss"](module, (inputs,), targets), meant)


def test_an_unknown_loss_is_refused(net: Any) -> None:
    with pytest.raises(MigrateError, match="MIG110"):
        net.plan(net.dense(net.batch(4), 2), settings=Settings(loss="hinge"))
