"""The learning rate at each step."""

import pytest
from torch import nn
from torch.optim import SGD

from runtime.train.schedule import lr_factor, set_lr
from runtime.train.settings import ScheduleSettings

COSINE = ScheduleSettings(name="cosine", warmup_steps=4, min_lr_ratio=0.1)


@pytest.mark.parametrize(("step", "factor"), [(0, 0.25), (3, 1.0), (4, 1.0), (12, 0.55), (20, 0.1), (500, 0.1)])
def test_cosine(step, factor):
    assert lr_factor(step, COSINE, 21) == pytest.approx(factor)


@pytest.mark.parametrize(("step", "factor"), [(0, 0.5), (1, 1.0), (90, 1.0)])
def test_constant(step, factor):
    assert lr_factor(step, ScheduleSettings(name="constant", warmup_steps=2), 10) == factor


def test_a_horizon_inside_the_warm_up_does_not_divide_by_zero():
    assert 0 < lr_factor(4, COSINE, 2) <= 1


def test_all_groups_get_the_rate():
    model = nn.Linear(2, 2)
    optimizer = SGD([{"params": [model.weight]}, {"params": [model.bias]}], lr=1.0)
    set_lr(optimizer, 0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [0.25, 0.25]
