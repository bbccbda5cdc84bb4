"""Puts a model and its inputs on a device that does not exist: shapes and dtypes without memory.

The device is torch's renamed PrivateUse1 device, because fakes on it take the paths that an out-of-tree accelerator
takes. Must not know operators or targets.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

DEVICE_TYPE = "traced"


class TracedModule(_DummyBackendModule):
    """What torch asks of the module of a device: here only which dtypes autocast may be entered with."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """The dtypes of mixed precision; whether the target has them is the audit's question."""
        return [torch.float16, torch.bfloat16]


def register_device() -> torch.device:
    """Registers the traced device, once in a process."""
    _setup_privateuseone_for_python_backend(DEVICE_TYPE, backend_module=TracedModule())
    # torch.tensor(..., device=...) would otherwise allocate on the device itself, below the fakes.
    torch._C._set_only_lift_cpu_tensors(True)
    return torch.device(f"{DEVICE_TYPE}:0")


def fake(mode: FakeTensorMode, tensor: Tensor, device: torch.device) -> FakeTensor:
    """A fake of `tensor` on `device`: it has no values."""
    return FakeTensor(mode, tensor.detach().to("meta"), device)


def fake_model(mode: FakeTensorMode, model: nn.Module, device: torch.device) -> nn.Module:
    """Swaps every parameter and buffer for a fake, in place; a tensor used twice stays one tensor."""
    made: dict[int, Tensor] = {}

    def swap(table: dict[str, Any], *, parameter: bool) -> None:
        for key, old in table.items():
            if old is None:
                continue
            if id(old) not in made:
                new = fake(mode, old, device)
                made[id(old)] = nn.Parameter(new, requires_grad=old.requires_grad) if parameter else new
            table[key] = made[id(old)]

    # The old tensors must outlive the loop: their ids are the keys.
    kept = [*model.parameters(), *model.buffers()]
    for module in model.modules():
        swap(module._parameters, parameter=True)
        swap(module._buffers, parameter=False)
        if isinstance(module, nn.RNNBase):
            weights = [getattr(module, name) for name in module._flat_weights_names]
            module._flat_weights = weights
            module._flat_weight_refs = [weakref.ref(weight) for weight in weights]
    del kept
    return model
