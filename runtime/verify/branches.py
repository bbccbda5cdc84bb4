"""Keeps a function on the branches that it takes at one point: which elements a ReLU passes, which one a maximum is.

Beyond a kink a difference says nothing of the derivative at the point, and a large network has kinks at every distance.
On its branches the function is smooth, and its derivative at the point is the same. Knows no module and no device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
Follow = Callable[..., Any]
"""The operator on the branches it took: its arguments -> its result."""
Rule = Callable[..., Follow | None]
_RULES: dict[str, Rule] = {}


def _rule(*names: str) -> Callable[[Rule], Rule]:
    """Register how an ATen operator follows its branches, from its result and its arguments at the point; None: it does not."""

    def register(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


def _tangent(value: Tensor, point: Tensor, slope: Tensor) -> Follow:
    intercept = value - slope * point
    return lambda x, *_: slope * x + intercept


@_rule("relu")
def _relu(value: Tensor, x: Tensor) -> Follow:
    kept = x > 0
    return lambda x: x * kept


@_rule("leaky_relu")
def _leaky_relu(value: Tensor, x: Tensor, slope: float = 0.01) -> Follow:
    return _tangent(value, x, torch.where(x > 0, 1.0, slope))


@_rule("_prelu_kernel")
def _prelu(value: Tensor, x: Tensor, weight: Tensor) -> Follow:
    positive = x > 0
    return lambda x, weight: torch.where(positive, x, weight * x)


@_rule("abs")
def _abs(value: Tensor, x: Tensor) -> Follow:
    sign = x.sign()
    return lambda x: x * sign


@_rule("clamp", "hardtanh")
def _clamp(value: Tensor, x: Tensor, *bounds: Any) -> Follow | None:
    if any(isinstance(bound, Tensor) for bound in bounds):
        return None
    return _tangent(value, x, (value == x).to(x.dtype))


_rule("clamp_min", "clamp_max", "threshold", "hardshrink")(_clamp)


@_rule("hardsigmoid")
def _hardsigmoid(value: Tensor, x: Tensor) -> Follow:
    return _tangent(value, x, aten.hardsigmoid_backward(torch.ones_like(x), x))


@_rule("hardswish")
def _hardswish(value: Tensor, x: Tensor) -> Follow:
    return _tangent(value, x, aten.hardswish_backward(torch.ones_like(x), x))


@_rule("softshrink")
def _softshrink(value: Tensor, x: Tensor, *_: Any) -> Follow:
    return _tangent(value, x, (value != 0).to(x.dtype))


@_rule("maximum", "minimum")
def _extreme(value: Tensor, x: Tensor, other: Tensor) -> Follow:
    first = value == x
    return lambda x, other: torch.where(first, x, other)


@_rule("max", "min")
def _chosen(value: Any, x: Tensor, dim: int | None = None, keepdim: bool = False) -> Follow | None:
    if dim is None or isinstance(value, Tensor):
        return None
    indices = value[1] if keepdim else value[1].unsqueeze(dim)

    def follow(x: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
        values = x.gather(dim, indices)
        return values if keepdim else values.squeeze(dim), value[1]

    return follow


@_rule("max_pool2d_with_indices", "adaptive_max_pool2d")
def _max_pool2d(value: tuple[Tensor, Tensor], x: Tensor, *_: Any) -> Follow:
    gathered = _gathered(2, value[1])
    return lambda x, *_: (gathered(x), value[1])


@_rule("max_pool3d_with_indices", "adaptive_max_pool3d")
def _max_pool3d(value: tuple[Tensor, Tensor], x: Tensor, *_: Any) -> Follow:
    gathered = _gathered(3, value[1])
    return lambda x, *_: (gathered(x), value[1])


@_rule("max_pool1d")
def _max_pool1d(value: Tensor, x: Tensor, *options: Any) -> Follow:
    return _gathered(1, aten.max_pool1d_with_indices(x, *options)[1])


def _gathered(num_axes: int, indices: Tensor) -> Follow:
    flat = indices.flatten(-num_axes)
    return lambda x, *_: x.flatten(-num_axes).gather(-1, flat).view_as(indices)


@_rule("gt", "ge", "lt", "le", "eq", "ne", "sign", "floor", "ceil", "round", "trunc")
def _constant(value: Tensor, *_: Any) -> Follow:
    return lambda *_: value


class Branches(TorchDispatchMode):
    """The first run inside records the branches, each run after `again` takes the same ones."""

    def __init__(self) -> None:
        super().__init__()
        self._taken: list[tuple[Any, Follow | None]] = []
        self._next: int | None = None

    def again(self) -> Branches:
        """Begin a run on the recorded branches."""
        self._next = 0
        return self

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        name, is_inplace = func._schema.name.removeprefix("aten::"), False
        if name not in _RULES and name.endswith("_"):
            name, is_inplace = name[:-1], True
        rule, kwargs = _RULES.get(name), kwargs or {}
        if rule is None or kwargs or not _is_float(args[0]):
            return func(*args, **kwargs)
        if self._next is None:
            return self._record(func, rule, args, is_inplace)
        return self._follow(func, args, is_inplace)

    def _record(self, func: Any, rule: Rule, args: Sequence[Any], is_inplace: bool) -> Any:
        before = (args[0].clone(), *args[1:]) if is_inplace else args
        value = func(*args)
        self._taken.append((func, rule(value.clone() if is_inplace else value, *before)))
        return value

    def _follow(self, func: Any, args: Sequence[Any], is_inplace: bool) -> Any:
        assert self._next is not None
        recorded, follow = self._taken[self._next] if self._next < len(self._taken) else (None, None)
        self._next += 1
        if recorded is not func or follow is None:  # the values chose another way through the code
            return func(*args)
        return args[0].copy_(follow(*args)) if is_inplace else follow(*args)


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()
