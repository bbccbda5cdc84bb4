"""One step: gradients of the mean loss, their norm, and what the update does with an overflow."""

import math

import pytest
import torch

from runtime.comm import World
from runtime.hal import open_device
from runtime.train.run import Request, build_run, open_batches
from runtime.train.settings import from_tables
from runtime.train.step import forward_backward, gradient_norm, update


def built(package, tables=None):
    return build_run(package, from_tables(tables or {}), Request(device="cpu"), open_device("cpu"), World())


def test_gradients_are_those_of_this_batch_alone(package):
    run = built(package)
    batch = next(open_batches(run, 0))
    losses = [forward_backward(run, batch) for _ in range(2)]
    x, wanted = batch
    error = run.state.model(x).detach() - wanted
    assert losses[0].item() == losses[1].item() == pytest.approx(error.square().mean().item())
    torch.testing.assert_close(run.state.model.weight.grad, 2 * error.T @ x / error.numel())


@pytest.mark.parametrize(("clip_norm", "left"), [(0.5, 0.5), (0.0, None)])
def test_the_norm_is_that_before_clipping(package, clip_norm, left):
    run = built(package, {"optimizer": {"clip_norm": clip_norm}})
    forward_backward(run, tuple(10 * t for t in next(open_batches(run, 0))))
    before = math.sqrt(sum(p.grad.square().sum().item() for p in run.state.model.parameters()))
    assert gradient_norm(run).item() == pytest.approx(before)
    after = math.sqrt(sum(p.grad.square().sum().item() for p in run.state.model.parameters()))
    assert before > 0.5 and after == pytest.approx(left or before, rel=1e-4)


def test_an_update_is_left_out_where_a_scaled_gradient_overflows(package):
    run = built(package, {"precision": {"mode": "fp16", "force": True}})
    before = run.state.weights()["weight"].clone()
    for factor, moves in ((1e4, False), (1e-3, True)):
        forward_backward(run, tuple(factor * t for t in next(open_batches(run, 0))))
        gradient_norm(run)
        update(run, 1)
        assert torch.equal(run.state.weights()["weight"], before) is not moves
