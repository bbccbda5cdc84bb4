"""The learning rate at each step."""

import pytest
from torch import nn
from torch.optim import SGD

from runtime.train.schedule import lr_factor, set_lr
from runtime.train.settings import ScheduleSettings

COSINE = ScheduleSettings(name="cosine", warmup_steps=4, min_lr_ratio=0.1)


@pytest.mark.parametrize(("step", "factor"), [(0, 0.0), (3, 0.75), (4, 1.0), (12, 0.55), (20, 0.1), (500, 0.1)])
def test_cosine(step, factor):
    assert lr_factor(step, COSINE, 21) == pytest.approx(factor)


@pytest.mark.parametrize(("step", "factor"), [(0, 0.2), (1, 0.6), (2, 1.0), (90, 1.0)])
def test_constant(step, factor):
    assert lr_factor(step, ScheduleSettings(name="constant", warmup_steps=2, warmup_from=0.2), 10) == pytest.approx(
        factor
    )


def test_the_other_shapes_count_from_the_end_of_the_warm_up():
    line = ScheduleSettings(name="linear", warmup_steps=2, min_lr_ratio=0.5)
    assert [lr_factor(step, line, 7) for step in (2, 4, 6, 9)] == [1.0, 0.75, 0.5, 0.5]
    steps = ScheduleSettings(name="step", warmup_steps=1, step_size=2, gamma=0.5)
    assert [lr_factor(step, steps, 0) for step in range(1, 6)] == [1.0, 1.0, 0.5, 0.5, 0.25]
    stones = ScheduleSettings(name="multistep", milestones=(1, 3), gamma=0.1)
    assert [lr_factor(step, stones, 0) for step in range(4)] == pytest.approx([1.0, 0.1, 0.1, 0.01])


def test_a_horizon_inside_the_warm_up_does_not_divide_by_zero():
    assert 0 < lr_factor(4, COSINE, 2) <= 1


def test_all_groups_get_the_rate():
    model = nn.Linear(2, 2)
    optimizer = SGD([{"params": [model.weight]}, {"params": [model.bias]}], lr=1.0)
    set_lr(optimizer, 0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [0.25, 0.25]
    optimizer.param_groups[1]["lr_ratio"] = 4.0
    set_lr(optimizer, 0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [0.25, 1.0]
