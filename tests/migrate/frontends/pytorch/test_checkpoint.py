"""A user's checkpoint of the source model loads into the emitted model, strictly, and the emitted one's into the source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import migrate
from migrate.options import Options
from tests.migrate.frontends.pytorch.models import CASES, GPT, ResNet

SOURCES: dict[str, type[nn.Module]] = {"gpt": GPT, "resnet": ResNet}


def exchanged(ours: nn.Module, source: nn.Module, inputs: tuple[Any, ...], folder: Path) -> None:
    """The source is trained elsewhere, saved and loaded here; then the other way round."""
    with torch.no_grad():
        for parameter in source.parameters():
            parameter.add_(0.01 * torch.randn_like(parameter))
    for left, right in ((source, ours), (ours, source)):
        torch.save(left.state_dict(), folder / "checkpoint.pt")
        right.load_state_dict(torch.load(folder / "checkpoint.pt", weights_only=True), strict=True)
        with torch.no_grad():
            torch.testing.assert_close(right.eval()(*inputs), left.eval()(*inputs), rtol=1e-5, atol=1e-5)
            for parameter in ours.parameters():
                parameter.mul_(1.01)


@pytest.mark.parametrize("case", SOURCES)
def test_of_an_exported_program(case: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    source, inputs = SOURCES[case](), CASES[case][1]
    torch.export.save(torch.export.export(source.eval(), inputs), tmp_path / "model.pt2")
    exchanged(migrate.to_module(str(tmp_path / "model.pt2")), source, inputs, tmp_path)


def test_of_a_factory(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "from torch import nn\n\n\ndef build():\n"
        "    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(64, 2))\n",
        encoding="utf-8",
    )
    ours = migrate.to_module("net:build", Options(pythonpath=(tmp_path,), input_shapes={"input": (2, 3, 6, 6)}))
    source = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(64, 2))
    exchanged(ours, source, (torch.randn(3, 3, 6, 6),), tmp_path)
