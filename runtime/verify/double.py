"""Runs a module in float64, on the host. Knows no device."""

from __future__ import annotations

import copy
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

_NARROW = (torch.float32, torch.float16, torch.bfloat16)


def _wide(tensor: Tensor) -> Tensor:
    return tensor.double() if tensor.dtype in _NARROW else tensor


class _Widen(TorchDispatchMode):
    """Casts to narrower floats, and constants in them, become float64, so that the pass is rounded nowhere."""

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("dtype") in _NARROW:
            kwargs["dtype"] = torch.float64
        if not func._schema.is_mutable:
            args = tree_map_only(Tensor, _wide, args)
        return func(*args, **kwargs)


@contextmanager
def widened() -> Generator[None]:
    """Inside, new tensors are float64 where the code asks for a narrower float or for the default."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _Widen():
            yield
    finally:
        torch.set_default_dtype(before)


def double(tensor: Tensor) -> Tensor:
    """Floating-point tensors in float64, others as they are."""
    return tensor.double() if tensor.is_floating_point() else tensor


def double_copy(module: nn.Module) -> nn.Module:
    """A copy of `module` on the host, its floating-point parameters and buffers in float64, in evaluation mode."""
    return copy.deepcopy(module).cpu().double().eval()
