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


def names() -> list[str]:
    return sorted(random.Random(SEED).sample(timm.list_models(), COUNT))


def case(name: str) -> Case:
    module, sides = _made(name)
    side = next((side for side in sides if _takes(module, side)), module.default_cfg["input_size"][-1])
    channels = module.default_cfg["input_size"][0]

    def inputs(batch: int) -> tuple[Tensor, ...]:
        return (torch.randn(batch, channels, side, side),)

    return Case(module=module, inputs=inputs)


def _made(name: str) -> tuple[Any, tuple[int, ...]]:
    """The model, for the first small image that it can be made for, and the sizes to try."""
    for side in SIDES:
        try:
            module = timm.create_model(name, img_size=side)
        except TypeError:  # it has no size of its own
            return timm.create_model(name), SIDES
        except Exception:  # too small, in as many ways as there are models
            continue
        return module, (side,)
    return timm.create_model(name), ()


def _takes(module: Any, side: int) -> bool:
    channels = module.default_cfg["input_size"][0]
    try:
        with torch.no_grad():
            for mode in (True, False):
                module.train(mode)(torch.randn(2, channels, side, side))
    except Exception:  # too small, in as many ways as there are models
        return False
    return True
