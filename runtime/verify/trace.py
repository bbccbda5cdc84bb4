"""Records what every module of a model returns, so that the first layer that differs from another engine is found.

The file is safetensors. A tensor is named `PATH#CALL` (`PATH#CALL.INDEX` where a module returns several), `PATH` being
the module path with `(model)` for the whole; its metadata entry `order` lists the names as they came.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from ..hal import Device
from .golden import GoldenCase
from .perturb import perturb
from .unchanged import unchanged

WHOLE = "(model)"


def _leaves(value: Any, index: str = "") -> Iterator[tuple[str, Tensor]]:
    """Every tensor of nested tuples, lists and dicts, with its place written as `.0.1`."""
    if isinstance(value, Tensor):
        yield index, value
    elif isinstance(value, dict):
        for key, part in cast("dict[Any, Any]", value).items():
            yield from _leaves(part, f"{index}.{key}")
    elif isinstance(value, tuple | list):
        for place, part in enumerate(cast("Sequence[Any]", value)):
            yield from _leaves(part, f"{index}.{place}")


@torch.no_grad()
def record(module: nn.Module, inputs: Sequence[Tensor]) -> dict[str, Tensor]:
    """The outputs of all modules, in the order in which they returned, as host tensors."""
    calls, recorded = Counter[str](), dict[str, Tensor]()

    def hook(path: str, _module: nn.Module, _args: Any, output: Any) -> None:
        call = calls[path]
        calls[path] += 1
        for index, tensor in _leaves(output):
            # cloned, because a later module may work in place
            recorded[f"{path}#{call}{index}"] = tensor.detach().cpu().clone()

    handles = [m.register_forward_hook(partial(hook, path or WHOLE)) for path, m in module.named_modules()]
    try:
        with unchanged(module):
            module(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return recorded


def write_trace(path: Path, module: nn.Module, case: GoldenCase, device: Device) -> None:
    """Record one golden case, with its perturbation where it has one, into `path`."""
    if case.sigma:
        module = copy.deepcopy(module)
        perturb(module, case.seed, case.sigma)
    recorded = record(module, [tensor.to(device.torch_device) for tensor in case.inputs])
    contiguous = {name: tensor.contiguous() for name, tensor in recorded.items()}
    save_file(contiguous, path, metadata={"case": case.name, "order": json.dumps(list(recorded))})


def read_trace(path: Path) -> dict[str, Tensor]:
    """What `write_trace` wrote, in the order in which the modules returned."""
    with safe_open(path, framework="pt") as file:
        order: list[str] = json.loads(file.metadata()["order"])
        return {name: file.get_tensor(name) for name in order}
