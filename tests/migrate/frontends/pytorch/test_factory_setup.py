"""The user's optimizer, scheduler, loss and batch as facts."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from migrate.frontends.pytorch.factory_setup import read_setup
from migrate.frontends.pytorch.setup import TrainingSetup


def test_every_part() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    groups = [{"params": net[0].parameters(), "lr": 0.01}, {"params": net[1].parameters()}]
    optimizer = torch.optim.AdamW(groups, lr=3e-4, weight_decay=0.1, betas=(0.8, 0.99))
    parts = {
        "optimizer": optimizer,
        "scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 5, gamma=0.5),
        "loss": nn.CrossEntropyLoss(label_smoothing=0.1, weight=torch.tensor([1.0, 2.0])),
        "batch": (torch.ones(3, 4), [torch.tensor([0, 1, 0])]),
    }
    setup, notes = read_setup(net, parts)
    assert notes == () and setup.optimizer and setup.scheduler and setup.loss
    assert setup.optimizer.cls == "torch.optim.adamw.AdamW"
    first, second = setup.optimizer.groups
    assert first.parameters == ("0.weight", "0.bias") and second.parameters == ("1.weight", "1.bias")
    assert (first.settings["lr"], second.settings["lr"]) == (0.01, 3e-4)
    assert second.settings["betas"] == (0.8, 0.99) and second.settings["weight_decay"] == 0.1
    assert setup.scheduler.cls == "torch.optim.lr_scheduler.StepLR"
    assert setup.scheduler.rates[:6] == (0.01,) * 5 + (0.005,) and optimizer.param_groups[0]["lr"] == 0.01
    assert setup.loss.name == "torch.nn.modules.loss.CrossEntropyLoss"
    assert setup.loss.settings.items() >= {"label_smoothing": 0.1, "weight": [1.0, 2.0], "reduction": "mean"}.items()
    assert sorted(setup.batch) == ["inputs.0", "targets.0"]


def test_functions_and_classes_of_the_user() -> None:
    def distance(found: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        return (found - wanted).abs().mean()

    net = nn.Linear(2, 2)
    assert read_setup(net, {"loss": F.mse_loss})[0].loss.name == "torch.nn.functional.mse_loss"  # type: ignore[union-attr]
    found = read_setup(net, {"loss": distance})[0].loss
    assert found and found.name.endswith("distance") and found.settings == {}


def test_nothing_given_and_nothing_fitting() -> None:
    net = nn.Linear(2, 2)
    assert read_setup(net, {}) == (TrainingSetup(), ())
    odd = {"optimizer": "adam", "scheduler": 3, "loss": 1.0, "batch": 7}
    setup, notes = read_setup(net, odd)
    assert setup == TrainingSetup()
    assert [note.code for note in notes] == ["MIG132"] * 4 and all(note.todo for note in notes)
    setup, notes = read_setup(net, {"batch": (torch.ones(2), ["text"])})
    assert sorted(setup.batch) == ["inputs.0"] and "targets 0" in notes[0].what
