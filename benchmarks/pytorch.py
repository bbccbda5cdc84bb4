"""Training steps of PyTorch modules and of what migrate emits for them: `python -m benchmarks.pytorch CASE` prints JSON.

Both are trained by one loop, a step of each in turn and in alternating order: forward, the mean of squares of every output
less a fixed target, backward, SGD. The emitted module starts from the source's weights, and its outputs are compared first.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.models import CONTEXT, FEATURES, GPT, VOCABULARY, Tagger
from benchmarks.training import BASE, TOLERANCE, Step, clock, error_of, reached, tensors, train_step, trainable
from tests.zoo.packages import find_packages

SOURCE = "the source"


class Level(nn.Module):
    """Two convolutions."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        sizes = ((inputs, outputs), (outputs, outputs))
        layers = [[nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU()] for a, b in sizes]
        self.layers = nn.Sequential(*[layer for three in layers for layer in three])

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class UNet(nn.Module):
    """Three levels down and up, with the skips of Ronneberger et al. 2015."""

    def __init__(self, widths: tuple[int, ...] = (16, 32, 64)) -> None:
        super().__init__()
        self.down = nn.ModuleList(Level(a, b) for a, b in zip((3, *widths), widths, strict=False))
        self.middle = Level(widths[-1], 2 * widths[-1])
        self.shrink, wide = nn.MaxPool2d(2), widths[::-1]
        self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * width, width, 2, stride=2) for width in wide)
        self.up = nn.ModuleList(Level(2 * width, width) for width in wide)
        self.head = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        skips: list[Tensor] = []
        for level in self.down:
            x = level(x)
            skips.append(x)
            x = self.shrink(x)
        x = self.middle(x)
        for grow, level, skip in zip(self.grow, self.up, reversed(skips), strict=True):
            x = level(torch.cat((skip, grow(x)), 1))
        return self.head(x)


def _zoo(family: str, name: str, **options: Any) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        find_packages()
        zoo = importlib.import_module(family)
        return zoo.models.get_model(name, **options) if family == "torchvision" else zoo.create_model(name, **options)

    return build


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A module and its input; `batch` samples are trained in a step."""

    build: Callable[[], nn.Module]
    draw: Callable[[int], Tensor]
    batch: int
    note: str


def _image(size: int) -> Callable[[int], Tensor]:
    return lambda batch: torch.randn(batch, 3, size, size)


CASES = {
    "resnet18": Case(build=_zoo("torchvision", "resnet18"), draw=_image(96), batch=8, note="torchvision, 96 x 96"),
    "mobilenet_v3_small": Case(
        build=_zoo("torchvision", "mobilenet_v3_small"), draw=_image(96), batch=8, note="torchvision, 96 x 96"
    ),
    "vit_tiny": Case(
        build=_zoo("timm", "vit_tiny_patch16_224", img_size=96), draw=_image(96), batch=8, note="timm, 96 x 96"
    ),
    "gpt": Case(
        build=GPT,
        draw=lambda batch: torch.randint(VOCABULARY, (batch, CONTEXT)),
        batch=8,
        note="4 blocks of 64 features, 64 tokens",
    ),
    "lstm": Case(
        build=Tagger, draw=lambda batch: torch.randn(batch, 32, FEATURES), batch=16, note="2 layers of 128, 32 steps"
    ),
    "unet": Case(build=UNet, draw=_image(64), batch=8, note="3 levels from 16 channels, 64 x 64"),
}


def emitted(module: nn.Module, example: Tensor) -> nn.Module:
    """What migrate makes of a module."""
    from migrate import to_module

    return to_module(module, example_inputs=(example,))


def measure(name: str, rounds: int) -> dict[str, Any]:
    """One case, the source and the emitted module side by side."""
    case = CASES[name]
    torch.manual_seed(0)
    source, x = case.build(), case.draw(case.batch)
    made = emitted(copy.deepcopy(source), case.draw(3))
    with torch.no_grad():
        wanted = tensors(source.eval()(x))
    targets = [torch.randn_like(t) for t in wanted]
    peers: dict[str, dict[str, Any]] = {}
    steps: dict[str, Step] = {}
    for peer, module in ((BASE, made), (SOURCE, source)):
        error = error_of(module, (x,), wanted)
        peers[peer] = {"error": error, "right": error <= TOLERANCE, "trainable": trainable(module)}
        steps[peer] = train_step(module.train(), (x,), targets)
        steps[peer]()
        peers[peer]["reached"] = reached(module)
    clock(peers, steps, rounds)
    return {"case": name, "note": case.note, "batch": case.batch, "rounds": rounds, "peers": peers, "refused": {}}


def main() -> None:
    """Measure one case and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=list(CASES))
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    print(json.dumps(measure(options.case, options.rounds)))


if __name__ == "__main__":
    main()
