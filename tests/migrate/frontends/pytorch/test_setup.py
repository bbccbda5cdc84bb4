"""The facts of a training set-up go through JSON and come back."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import torch

from migrate.frontends.pytorch.setup import (
    GroupFact,
    LossFact,
    OptimizerFact,
    SchedulerFact,
    TrainingSetup,
    setup_from_dict,
)

SETUP = TrainingSetup(
    optimizer=OptimizerFact(
        cls="torch.optim.sgd.SGD", groups=(GroupFact(parameters=("a", "b"), settings={"lr": 0.1}),), untrained=("c",)
    ),
    scheduler=SchedulerFact(cls="torch.optim.lr_scheduler.StepLR", rates=(0.1, 0.05)),
    loss=LossFact(name="torch.nn.functional.mse_loss"),
)


def test_there_and_back() -> None:
    batch = {"inputs.0": torch.ones(2)}
    back = setup_from_dict(json.loads(json.dumps(asdict(SETUP))), batch)
    assert back == replace(SETUP, batch=batch)


def test_nothing_there() -> None:
    assert setup_from_dict(asdict(TrainingSetup()), {}) == TrainingSetup()
