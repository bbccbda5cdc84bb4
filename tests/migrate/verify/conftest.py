from __future__ import annotations

import io
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from migrate.codegen import PackagePlan, plan_package, write_package
from migrate.frontends.onnx import load_onnx
from migrate.frontends.onnx.oracle import OnnxOracle
from migrate.graph import Graph
from migrate.graph.passes import run_passes
from migrate.opmap import load_target, resolve
from migrate.verify import Verification, verify


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width, momentum=0.2)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, x):
        return F.relu(x + self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.layers = nn.Sequential(Block(8), Block(8))
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        return F.softmax(self.fc(self.layers(self.stem(x)).mean((2, 3))), 1)


class TwoInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x, z):
        h = torch.tanh(self.first(torch.cat([x, z], 1)))
        return self.last(h + torch.sigmoid(self.second(h)))


class TiedLanguageModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb, self.mid = nn.Embedding(20, 8), nn.Linear(8, 8)
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, x):
        return self.head(torch.tanh(self.mid(self.emb(x))))


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb, self.lstm = nn.Embedding(30, 8), nn.LSTM(8, 12, batch_first=True, bidirectional=True)
        self.out = nn.Linear(24, 6)

    def forward(self, x):
        return self.out(self.lstm(self.emb(x))[0])


def export(model: nn.Module, *inputs: torch.Tensor, names=("x",), fold: bool = False) -> onnx.ModelProto:
    """The module as ONNX with a free batch; statistics and normalisation weights are made unlike each other."""
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if "bn" in name and tensor.is_floating_point():
            nn.init.uniform_(tensor, 0.5, 1.5)
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.eval(), inputs, file, dynamo=False, input_names=list(names), output_names=["y"], opset_version=17,
            dynamic_axes={name: {0: "batch"} for name in (*names, "y")}, do_constant_folding=fold,
        )  # fmt: skip
    return onnx.load_from_string(file.getvalue())


def sources() -> dict[str, Callable[[], onnx.ModelProto]]:
    return {
        "resnet": lambda: export(ResNet(), torch.randn(2, 3, 8, 8)),
        "two_inputs": lambda: export(TwoInputs(), torch.randn(2, 3), torch.randn(2, 3), names=("x", "z")),
        "tied": lambda: export(TiedLanguageModel(), torch.randint(0, 20, (2, 7)), fold=True),
        "tagger": lambda: export(Tagger(), torch.randint(0, 30, (2, 7)), fold=True),
    }


@dataclass
class Converted:
    """A source and a pristine package made from it."""

    source: Any
    graph: Graph
    plan: PackagePlan
    package: Path

    def verify(self, folder: Path, edit: Callable[[Path], None] | None = None) -> tuple[Path, Verification]:
        """Verify a copy of the package, after planting a fault in it."""
        copy = folder / "package"
        shutil.copytree(self.package, copy)
        if edit is not None:
            edit(copy / self.plan.name)
        oracle = OnnxOracle(self.source)
        return copy, verify(copy, self.plan.name, self.graph, oracle, self.plan)


def convert(source: Any, name: str, out: Path) -> Converted:
    graph = load_onnx(source)
    run_passes(graph)
    plan = plan_package(graph, name=name)
    package = write_package(plan, out, target=resolve(load_target("cpu")))
    return Converted(source=source, graph=graph, plan=plan, package=package)


@pytest.fixture(scope="session")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Converted]:
    made: dict[str, Converted] = {}

    def get(name: str) -> Converted:
        if name not in made:
            torch.manual_seed(0)
            made[name] = convert(sources()[name](), name, tmp_path_factory.mktemp(name) / "package")
        return made[name]

    return get
