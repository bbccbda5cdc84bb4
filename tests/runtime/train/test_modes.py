"""Training mode with statistics frozen or dropout off."""

import pytest
from torch import nn

from runtime.train.modes import set_training_mode
from runtime.train.settings import TrainSettings


def model():
    return nn.ModuleDict(
        {
            "norm": nn.BatchNorm1d(2),
            "untracked": nn.InstanceNorm1d(2),
            "dropout": nn.Dropout(0.5),
            "linear": nn.Linear(2, 2),
            "rnn": nn.LSTM(2, 2, num_layers=2, dropout=0.5),
        }
    ).eval()


@pytest.mark.parametrize(("frozen", "dropout"), [(False, True), (True, True), (False, False), (True, False)])
def test_only_what_was_asked_for_leaves_training_mode(frozen, dropout):
    made = model()
    set_training_mode(made, TrainSettings(freeze_statistics=frozen, dropout=dropout))
    assert made["norm"].training is not frozen
    assert made["dropout"].training is dropout
    assert made["rnn"].dropout == (0.5 if dropout else 0.0)
    assert made["untracked"].training and made["linear"].training and made["rnn"].training
