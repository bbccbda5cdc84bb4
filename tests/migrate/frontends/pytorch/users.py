"""A user's folder for the tests: `mine.py` with factories of every kind, good and bad."""

from pathlib import Path

MINE = """
import os
import sys
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

print("imported")
os.system("echo from a process of its own")


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.first = nn.Linear(4, width)
        self.norm = nn.BatchNorm1d(width)
        self.drop = nn.Dropout(0.1)
        self.last = nn.Linear(width, 2)

    def forward(self, x, scale=None):
        y = self.last(self.drop(self.norm(self.first(x)).relu()))
        return y if scale is None else y * scale


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4)

    def forward(self, tokens):
        return self.embed(tokens).mean(1)


class Chooses(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(4, 2)

    def forward(self, x):
        if x.sum() > 0:
            return self.last(x)
        return x[:, :2]


@dataclass
class Setup:
    module: nn.Module
    inputs: object
    optimizer: object
    loss: object


module = Net()


def build():
    return Net()


def words():
    return Words()


def chooses():
    return Chooses(), torch.randn(3, 4)


def pair():
    return Net(), torch.randn(3, 4)


def by_name():
    return Net(), {"x": torch.randn(3, 4), "scale": torch.ones(1)}


def full():
    net = Net()
    groups = [{"params": net.first.parameters(), "lr": 0.01}, {"params": [*net.last.parameters(), *net.norm.parameters()]}]
    optimizer = torch.optim.AdamW(groups, lr=3e-4, weight_decay=0.1, betas=(0.8, 0.99))
    return {
        "module": net,
        "inputs": (torch.randn(3, 4),),
        "optimizer": optimizer,
        "scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 5, gamma=0.5),
        "loss": nn.CrossEntropyLoss(label_smoothing=0.1, weight=torch.tensor([1.0, 2.0])),
        "batch": (torch.randn(3, 4), torch.tensor([0, 1, 0])),
    }


def as_object():
    net = Net()
    return Setup(module=net, inputs=torch.randn(3, 4), optimizer=torch.optim.SGD(net.parameters(), lr=0.1), loss=F.mse_loss)


def odd():
    return {"module": Net(), "inputs": torch.randn(3, 4), "optimizer": "adam", "scheduler": 3, "loss": 1.0, "batch": 7}


def raises():
    table = {}
    return table["missing"]


def in_a_library():
    return torch.zeros(2) @ torch.zeros(3)


def leaves():
    sys.exit("bye")


def dies():
    os._exit(7)


def reads():
    return input("name? ")


def needs(width, depth=2):
    return Net(width)


def text():
    return "a model"


number = 3
"""


def write_project(folder: Path) -> Path:
    """The folder, with the user's modules in it."""
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    (folder / "broken.py").write_text("x = 1\ndef f(:\n", encoding="utf-8")
    (folder / "missing.py").write_text("import not_installed_anywhere\n", encoding="utf-8")
    (folder / "hangs.py").write_text("import time\n\nopen('hangs', 'w').close()\ntime.sleep(1000)\n", encoding="utf-8")
    return folder
