"""A fixed random sample of timm's models, untrained, at a small image where they take one."""

from __future__ import annotations

import importlib
import random
from typing import Any

import torch
from torch import Tensor

from tests.zoo.cases import Case
from tests.zoo.packages import find_packages

find_packages()

timm: Any = importlib.import_module("timm")

SEED, COUNT = 3, 200
SIDES = (64, 96, 128, 192)
LARGE = 60_000_000  # from so many parameters on, fewer of a model's repeated blocks are made
FEWER: tuple[dict[str, Any], ...] = ({"depth": 2}, {"depths": (1, 1, 1, 1)}, {"layers": (1, 1, 1, 1)})


def names() -> list[str]:
    return sorted(random.Random(SEED).sample(timm.list_models(), COUNT))


def case(name: str) -> Case:
    made = _made(name, _fewer_blocks(name)) or _made(name, {})
    if made is None:
        module = timm.create_model(name)
        made = module, module.default_cfg["input_size"][-1]
    module, side = made
    channels = module.default_cfg["input_size"][0]

    def inputs(batch: int) -> tuple[Tensor, ...]:
        return (torch.randn(batch, channels, side, side),)

    return Case(module=module, inputs=inputs)


def _size(name: str, **arguments: Any) -> int:
    """How many parameters it would have; 0 where it takes no such arguments."""
    try:
        with torch.device("meta"):
            return sum(p.numel() for p in timm.create_model(name, **arguments).parameters())
    except Exception:  # a constructor may raise anything
        return 0


def _fewer_blocks(name: str) -> dict[str, Any]:
    size = _size(name)
    if size < LARGE:
        return {}
    return next((fewer for fewer in FEWER if 0 < _size(name, **fewer) < size), {})


def _made(name: str, arguments: dict[str, Any]) -> tuple[Any, int] | None:
    """The model and the first small image that it takes, made for that image where it can be; None if it takes none."""
    for side in SIDES:
        try:
            module = timm.create_model(name, img_size=side, **arguments)
        except TypeError:  # it has no size of its own
            module = timm.create_model(name, **arguments)
        except Exception:  # too small, in as many ways as there are models
            continue
        if _takes(module, side):
            return module, side
    return None


def _takes(module: Any, side: int) -> bool:
    channels = module.default_cfg["input_size"][0]
    try:
        with torch.no_grad():
            for mode in (True, False):
                module.train(mode)(torch.randn(2, channels, side, side))
    except Exception:  # too small, in as many ways as there are models
        return False
    return True
