"""Everything that a run must remember to go on to the bit: takes it from the live objects, and puts it back.

Knows the kinds of objects a run has; not where their state is stored.
"""

from __future__ import annotations

import json
import random
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..comm import World
from ..hal import Device
from ..package import PackageError


def _bytes(value: Any) -> Tensor:
    return torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)


def _value(tensor: Tensor) -> Any:
    return json.loads(tensor.numpy().tobytes())


def _rng_tensors(device: Device) -> dict[str, Tensor]:
    name, keys, *rest = np.random.get_state()
    assert isinstance(keys, np.ndarray)
    return {
        "host": torch.get_rng_state(),
        "device": device.rng_state(),
        "python": _bytes(random.getstate()),
        "numpy": _bytes([name, keys.tolist(), *rest]),
    }


def _set_rng(tensors: Mapping[str, Tensor], device: Device) -> None:
    torch.set_rng_state(tensors["host"])
    device.set_rng_state(tensors["device"])
    version, keys, gauss = _value(tensors["python"])
    random.setstate((version, tuple(keys), gauss))
    np.random.set_state(tuple(_value(tensors["numpy"])))


@contextmanager
def undisturbed_generators(device: Device) -> Generator[None]:
    """On leaving, all random generators are as they were on entering."""
    before = _rng_tensors(device)
    try:
        yield
    finally:
        _set_rng(before, device)


def _kind(optimizer: Optimizer) -> str:
    """The class of torch's own that `optimizer` is or extends: what its state can be given to."""
    return next(cls.__name__ for cls in type(optimizer).__mro__ if cls.__module__.startswith("torch.optim."))


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: t for name, t in tensors.items() if name.startswith(prefix)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """The live objects of a run whose state changes from step to step."""

    model: nn.Module
    optimizer: Optimizer
    scaler: torch.amp.GradScaler
    device: Device
    world: World

    def weights(self) -> dict[str, Tensor]:
        """The model's parameters and persistent buffers, on the host."""
        return {name: tensor.detach().cpu() for name, tensor in self.model.state_dict().items()}

    def tensors(self) -> dict[str, Tensor]:
        """This process's tensors by unique name: model and optimizer from the first process, generators from each."""
        rng = {f"rng/{self.world.rank}/{name}": t for name, t in _rng_tensors(self.device).items()}
        if not self.world.is_main:
            return rng
        model = {f"model/{name}": t for name, t in self.weights().items()}
        return model | self._optimizer_tensors() | rng

    def values(self) -> dict[str, Any]:
        """What is no tensor, as JSON values."""
        return {
            "optimizer": _kind(self.optimizer),
            "scaler": self.scaler.state_dict(),
            "world_size": self.world.size,
        }

    def restore(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> list[str]:
        """Put back what `tensors` and `values` gave; returns remarks on what could not be.

        Raises:
            PackageError: the checkpoint is of another model or optimizer.
        """
        remarks: list[str] = []
        self._restore_model(_under(tensors, "model/"))
        self._restore_optimizer(_under(tensors, "optimizer/"), values["optimizer"])
        if self.scaler.is_enabled() and values["scaler"]:
            self.scaler.load_state_dict(values["scaler"])
        rng = _under(tensors, f"rng/{self.world.rank}/")
        if rng:
            _set_rng(rng, self.device)
        if values["world_size"] != self.world.size:
            remarks.append(
                f"the checkpoint is of {values['world_size']} processes, this run has {self.world.size}: "
                "the order of the data goes on, random numbers (dropout) do not"
            )
        return remarks

    def _restore_model(self, stored: dict[str, Tensor]) -> None:
        own = self.model.state_dict()
        different = sorted(own.keys() ^ stored.keys()) or [n for n, t in own.items() if t.shape != stored[n].shape]
        if different:
            raise PackageError(f"the checkpoint is of another model; {different[0]} differs (of {len(different)})")
        self.model.load_state_dict(stored)

    def _named(self) -> list[tuple[str, nn.Parameter]]:
        """The optimizer's parameters in its own order, with the model's names."""
        names = {id(parameter): name for name, parameter in self.model.named_parameters()}
        return [(names[id(p)], p) for group in self.optimizer.param_groups for p in group["params"]]

    def _optimizer_tensors(self) -> dict[str, Tensor]:
        return {
            f"optimizer/{key}/{name}": value.detach().cpu()
            for name, parameter in self._named()
            for key, value in self.optimizer.state.get(parameter, {}).items()
            if isinstance(value, Tensor)
        }

    def _restore_optimizer(self, stored: dict[str, Tensor], kind: str) -> None:
        if kind != _kind(self.optimizer):
            raise PackageError(
                f"the checkpoint is of the optimizer {kind}, this run has {_kind(self.optimizer)}; "
                "set optimizer.name as it was, or start without --resume"
            )
        by_name: dict[str, dict[str, Tensor]] = {}
        for path, tensor in stored.items():
            key, _, name = path.partition("/")
            by_name.setdefault(name, {})[key] = tensor
        packed = self.optimizer.state_dict()
        packed["state"] = {i: by_name[name] for i, (name, _) in enumerate(self._named()) if name in by_name}
        self.optimizer.load_state_dict(packed)
