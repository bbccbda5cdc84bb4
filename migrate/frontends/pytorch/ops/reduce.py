"""Reductions whose ATen form differs from the public one."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.ops.elementwise import cast
from migrate.frontends.pytorch.registry import aten_op
from migrate.graph import Builder, Value


def _reduced(b: Builder, op: str, x: Value, dim: Any, keepdim: bool, dtype: str | None) -> Value:
    x = cast(b, x, dtype)
    dims = tuple(dim) if isinstance(dim, tuple | list) else dim
    if dims is None or dims == ():
        return getattr(b, op)(x) if not keepdim else getattr(b, op)(x, tuple(range(x.rank)), keepdim=True)
    return getattr(b, op)(x, dims, **({"keepdim": True} if keepdim else {}))


@aten_op("aten.sum")
def aten_sum(b: Builder, self: Value, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Value:
    """Sums."""
    return _reduced(b, "sum", self, dim, keepdim, dtype)


@aten_op("aten.mean")
def aten_mean(b: Builder, self: Value, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Value:
    """Means."""
    return _reduced(b, "mean", self, dim, keepdim, dtype)


@aten_op("aten.amax")
def aten_amax(b: Builder, self: Value, dim: Any = (), keepdim: bool = False) -> Value:
    """Largest elements."""
    return _reduced(b, "amax", self, dim, keepdim, None)


@aten_op("aten.amin")
def aten_amin(b: Builder, self: Value, dim: Any = (), keepdim: bool = False) -> Value:
    """Smallest elements."""
    return _reduced(b, "amin", self, dim, keepdim, None)


@aten_op("aten.var", "aten.std")
def aten_var(b: Builder, self: Value, dim: Any = None, unbiased: Any = True, keepdim: bool = False) -> Value:
    """Variance, in the older form."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return _spread(b, "var", self, dim, int(unbiased), keepdim)


def _spread(b: Builder, op: str, x: Value, dim: Any, correction: Any, keepdim: bool) -> Value:
    named = {"correction": 1 if correction is None else correction}
    named |= {"keepdim": True} if keepdim else {}
    dims = tuple(dim) if isinstance(dim, tuple | list) else dim
    return getattr(b, op)(x, **({} if dims is None else {"dim": dims}), **named)


@aten_op("aten.var.correction")
def aten_var_correction(
    b: Builder, self: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> Value:
    """Variance."""
    return _spread(b, "var", self, dim, correction, keepdim)


@aten_op("aten.std.correction")
def aten_std_correction(
    b: Builder, self: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> Value:
    """Standard deviation."""
    return _spread(b, "std", self, dim, correction, keepdim)


@aten_op("aten.std.dim", "aten.std.default")
def aten_std(b: Builder, self: Value, dim: Any = None, unbiased: Any = True, keepdim: bool = False) -> Value:
    """Standard deviation, in the older form."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return _spread(b, "std", self, dim, int(unbiased), keepdim)


@aten_op("aten.var_mean.correction")
def aten_var_mean(
    b: Builder, self: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> tuple[Value, Value]:
    """Variance and mean."""
    return _spread(b, "var", self, dim, correction, keepdim), _reduced(b, "mean", self, dim, keepdim, None)


@aten_op("aten.max.default")
def aten_max(b: Builder, self: Value) -> Value:
    """The largest element."""
    return b.amax(self)


@aten_op("aten.min.default")
def aten_min(b: Builder, self: Value) -> Value:
    """The smallest element."""
    return b.amin(self)


@aten_op("aten.max.other")
def aten_max_other(b: Builder, self: Value, other: Value) -> Value:
    """The larger of two, element by element."""
    return b.maximum(self, other)


@aten_op("aten.min.other")
def aten_min_other(b: Builder, self: Value, other: Value) -> Value:
    """The smaller of two, element by element."""
    return b.minimum(self, other)


@aten_op("aten.max.dim")
def aten_max_dim(b: Builder, self: Value, dim: int, keepdim: bool = False) -> Any:
    """Largest elements and their places."""
    return b.max(self, dim, keepdim)


@aten_op("aten.min.dim")
def aten_min_dim(b: Builder, self: Value, dim: int, keepdim: bool = False) -> Any:
    """Smallest elements and their places."""
    return b.min(self, dim, keepdim)


@aten_op("aten.softmax.int", "aten._softmax", "aten.special_softmax")
def aten_softmax(b: Builder, self: Value, dim: int, dtype: Any = None) -> Value:
    """In another type where one is given."""
    return b.softmax(cast(b, self, dtype if isinstance(dtype, str) else None), dim=dim)


@aten_op("aten.log_softmax.int", "aten._log_softmax")
def aten_log_softmax(b: Builder, self: Value, dim: int, dtype: Any = None) -> Value:
    """In another type where one is given."""
    return b.log_softmax(cast(b, self, dtype if isinstance(dtype, str) else None), dim=dim)
