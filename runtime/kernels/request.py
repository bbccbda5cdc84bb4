"""What a kernel call asks for: the class of calls that one verdict speaks for, and a sample of it. Knows no implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A class of calls: same kernel, device type, dtypes, flags and nearly the same shapes.

    `shapes` has one entry an argument: a tensor gives its sizes, where all but the features (the last size of a
    floating tensor) are rounded up to a power of two; a list of tensors gives ("list", length, elements), rounded
    likewise; flags stand for themselves and numbers for nothing ("number"), since no implementation may depend on them.
    """

    kernel: str
    device: str
    dtypes: tuple[str, ...]
    shapes: tuple[Any, ...]
    grad: bool
    autocast: str | None = None

    @property
    def text(self) -> str:
        """One line, e.g. `float32 (64x512, none), with gradient`."""
        known = [s for s in self.shapes if s != "number"]
        shown = ", ".join("x".join(map(str, s)) if isinstance(s, tuple) else str(s) for s in known)
        mode = f", autocast {self.autocast}" if self.autocast else ""
        return f"{'/'.join(self.dtypes)} ({shown}){', with gradient' if self.grad else ''}{mode}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Like:
    """A tensor's description without its data."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    requires_grad: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One sample of a class: arguments with tensors replaced by `Like` (lists by tuples of them)."""

    request: Request
    device: torch.device
    args: tuple[Any, ...]

    @staticmethod
    def of(kernel: str, *args: Any) -> Call:
        """Describe a call; raises `ValueError` where no choice may be made for such arguments."""
        request = requested(kernel, args)
        if request is None:
            raise ValueError(f"{kernel}: only plain tensors of one device take part in the selection")
        return Call(request=request, device=next(tensors(args)).device, args=tuple(map_tensors(describe, args)))


def tensors(args: Any) -> Iterator[Tensor]:
    """All tensors of nested lists and tuples, in order."""
    for arg in args:
        if isinstance(arg, Tensor):
            yield arg
        elif isinstance(arg, (list, tuple)):
            yield from tensors(arg)


def map_tensors(function: Callable[[Any], Any], args: Sequence[Any]) -> list[Any]:
    """`args` with `function` applied to each tensor or `Like`, inside lists too."""
    return [
        map_tensors(function, arg)
        if isinstance(arg, (list, tuple))
        else (function(arg) if isinstance(arg, (Tensor, Like)) else arg)
        for arg in args
    ]


def describe(tensor: Tensor) -> Like:
    """The tensor's shape, dtype and whether it wants a gradient."""
    return Like(shape=tuple(tensor.shape), dtype=tensor.dtype, requires_grad=tensor.requires_grad)


def rounded(size: int) -> int:
    """The next power of two, or zero."""
    return 1 << (size - 1).bit_length() if size > 0 else 0


def shape_class(arg: Any) -> Any:
    """The entry of one argument in `Request.shapes`."""
    if isinstance(arg, Tensor):
        sizes = tuple(rounded(s) for s in arg.shape)
        return (*sizes[:-1], arg.shape[-1]) if sizes and arg.is_floating_point() else sizes
    if isinstance(arg, (list, tuple)):
        found = list(tensors(arg))
        return ("list", rounded(len(found)), rounded(sum(t.numel() for t in found)))
    return arg if arg is None or isinstance(arg, (bool, str)) else "number"


def requested(kernel: str, args: Sequence[Any]) -> Request | None:
    """The class of a call, or None where the reference must run: tensor subclasses (wrapper devices, fake and
    distributed tensors), several devices, or no tensor at all.
    """
    found = list(tensors(args))
    if not found or any(type(t) is not Tensor and type(t) is not torch.nn.Parameter for t in found):
        return None
    kinds = {t.device for t in found if t.dim() > 0}
    if len(kinds) != 1:
        return None
    device = kinds.pop().type
    grad = torch.is_grad_enabled() and any(t.requires_grad for t in found)
    cast = str(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else None
    return Request(
        kernel=kernel,
        device=device,
        dtypes=tuple(str(d).removeprefix("torch.") for d in dict.fromkeys(t.dtype for t in found)),
        shapes=tuple(shape_class(arg) for arg in args),
        grad=grad,
        autocast=cast and cast.removeprefix("torch."),
    )
