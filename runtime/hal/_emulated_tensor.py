"""The tensor of an emulated device: its numbers are a CPU tensor (`raw`), its operators go to the emulator.

Knows nothing of profiles or costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ._emulated_memory import Lease

_data: Any = Tensor.data
_set_data: Callable[[Tensor, Tensor], None] = _data.__set__


class EmulatedTensor(Tensor):
    """A tensor that says it is on the emulated device."""

    raw: Tensor
    lease: Lease | None
    run: ClassVar[Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]]
    """The emulator's dispatch function, set when the device is registered."""
    take_lease: ClassVar[Callable[[Tensor], Lease | None]]
    place: ClassVar[torch.device]

    __torch_function__ = torch._C._disabled_torch_function_impl  # pyright: ignore[reportAssignmentType]

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return EmulatedTensor.run(func, args, kwargs or {})

    @property
    def data(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The same numbers, apart from autograd."""
        with torch.no_grad():
            return self.detach()

    @data.setter
    def data(self, new: Tensor) -> None:
        # torch swaps the outer tensor only; the numbers must follow
        if not isinstance(new, EmulatedTensor):
            raise TypeError(f"cannot assign a tensor on {new.device} to .data of one on {self.device}; move it first")
        _set_data(self, new)
        self.raw, self.lease = new.raw, new.lease

    def refresh(self) -> None:
        """Take over sizes and bytes of `raw`, which an operator has resized or restrided."""
        _set_data(self, wrap(self.raw, None))
        self.lease = EmulatedTensor.take_lease(self.raw)

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as by every device tensor."""
        raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() first.")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.numpy()

    def tolist(self) -> Any:
        """The numbers as nested lists."""
        return self.raw.tolist()

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"{repr(self.raw)[:-1]}, device='{self.device}')"

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user support the deepcopy protocol")
        with torch.no_grad():
            copy = self.detach().clone()
        copied = nn.Parameter(copy) if isinstance(self, nn.Parameter) else copy
        copied.requires_grad_(self.requires_grad)
        if self.grad is not None:
            copied.grad = self.grad.__deepcopy__(memo)
        memo[id(self)] = copied
        return copied

    def __reduce_ex__(self, proto: Any) -> Any:
        # a file that holds device tensors must load where there is no such device
        host = nn.Parameter(self.raw) if isinstance(self, nn.Parameter) else self.raw.detach()
        return host.requires_grad_(self.requires_grad).__reduce_ex__(proto)


def wrap(raw: Tensor, lease: Lease | None) -> EmulatedTensor:
    """A device tensor over `raw`; `lease` keeps its bytes on the account."""
    if torch.is_inference_mode_enabled():
        # autograd's view tracking needs ordinary tensors where the base is one
        with torch.inference_mode(False):
            return _make(raw, lease)
    return _make(raw, lease)


def _make(raw: Tensor, lease: Lease | None) -> EmulatedTensor:
    tensor = Tensor._make_wrapper_subclass(
        EmulatedTensor,
        raw.size(),
        strides=raw.stride(),
        storage_offset=raw.storage_offset(),
        dtype=raw.dtype,
        device=EmulatedTensor.place,
    )
    tensor.raw = raw
    tensor.lease = lease
    return tensor


def unwrap(values: Iterable[Any], devices: list[EmulatedTensor], hosts: list[Tensor]) -> list[Any]:
    """`values` with device tensors as their CPU tensors; which were which is added to `devices` and `hosts`."""
    unwrapped: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is EmulatedTensor:
            devices.append(value)
            value = value.raw
        elif kind is list or kind is tuple:
            value = unwrap(value, devices, hosts)
        elif kind is torch.device:
            value = HOST if value.type == EmulatedTensor.place.type else value
        elif kind in _SCALARS:
            pass
        elif isinstance(value, Tensor):
            hosts.append(value)
        unwrapped.append(value)
    return unwrapped


HOST = torch.device("cpu")
_SCALARS = frozenset({int, float, bool, str, type(None), torch.dtype, torch.layout, torch.memory_format})
