"""Every model of torchvision, untrained, at the smallest image that it takes."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.zoo.cases import Case
from tests.zoo.packages import find_packages

find_packages()

models: Any = importlib.import_module("torchvision.models")

SIDE = 64
SIDES = {"inception_v3": 299, "quantized_inception_v3": 299, "maxvit_t": 224, "s3d": 224, "mvit": 224, "raft": 128}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "vit_h": {"image_size": 28},
    "vit_": {"image_size": 64},
    "googlenet": {"init_weights": False},
    "inception_v3": {"init_weights": False},
}
VIDEO = {"r3d_18": 4, "mc3_18": 4, "r2plus1d_18": 4, "s3d": 14, "mvit": 16, "swin3d": 4}
BACKBONES = ("fcn", "deeplab", "lraspp", "rcnn", "retinanet", "fcos", "ssd")
DETECTION = ("rcnn", "retinanet", "fcos", "ssd")


def _by_start(table: dict[str, Any], name: str, default: Any) -> Any:
    return next((value for start, value in table.items() if name.startswith(start)), default)


def names() -> list[str]:
    return sorted(models.list_models())


def case(name: str) -> Case:
    arguments = dict(_by_start(ARGUMENTS, name.removeprefix("quantized_"), {}))
    if any(part in name for part in BACKBONES):
        arguments["weights_backbone"] = None
    module = models.get_model(name, weights=None, **arguments)
    side = arguments.get("image_size", _by_start(SIDES, name, SIDE))
    frames = _by_start(VIDEO, name, None)

    def inputs(batch: int) -> Any:
        if name.startswith("raft"):
            return {f"image{k}": torch.rand(batch, 3, side, side) for k in (1, 2)} | {"num_flow_updates": 2}
        if any(part in name for part in DETECTION):
            return ([torch.rand(3, side, side) for _ in range(batch)],)
        return (torch.randn(batch, 3, *([frames] if frames else []), side, side),)

    return Case(module=module, inputs=inputs, common=_without_auxiliary)


def _without_auxiliary(result: Any) -> Any:
    """What evaluation returns as well of the results of GoogLeNet and Inception."""
    return getattr(result, "logits", result)
