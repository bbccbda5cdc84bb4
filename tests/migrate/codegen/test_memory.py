"""The emitted model in memory: its numbers are the source's, and none is drawn."""

import gc
import sys
from typing import Any

import torch
from torch import nn

from migrate.codegen import to_module
from migrate.codegen.memory import _without_drawing


def test_an_initialiser_that_draws_until_its_numbers_are_good_still_ends() -> None:
    with _without_drawing():
        found = nn.init.trunc_normal_(torch.full((64,), float("nan")), a=-1.0, b=1.0)
    assert found.abs().max() <= 1


def test_loading_draws_no_random_numbers(net: Any) -> None:
    plan = net.plan(net.softmax(net.dense(net.mean(net.conv_norm(net.batch(3, 8, 8), 4), (2, 3)), 5), -1))
    before = torch.get_rng_state()
    first, second = to_module(plan).state_dict(), to_module(plan).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    assert {tensor.key for tensor in plan.tensors} <= set(first)
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_modules_live_as_long_as_their_model(net: Any) -> None:
    plan = net.plan(net.dense(net.batch(4), 3))
    gc.collect()
    before = {name for name in sys.modules if name.startswith("_migrated_")}
    module = to_module(plan)
    place = type(module).__module__
    assert place in sys.modules and place not in before
    del module
    gc.collect()
    assert {name for name in sys.modules if name.startswith("_migrated_")} <= before
    assert "runtime" in sys.modules


def test_the_tools_own_runtime_stays_one_module(net: Any) -> None:
    import runtime.package

    before = runtime, runtime.package
    to_module(net.plan(net.dense(net.batch(4), 3)))
    assert (sys.modules["runtime"], sys.modules["runtime.package"]) == before
