"""What the emulator works out once per operator: how it is run, what it returns, and its verdicts. Runs nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from ._emulated_table import Refused

COMMUNICATION = frozenset({"c10d", "c10d_functional", "_c10d_functional", "_c10d_functional_autograd"})
"""Namespaces of collectives: they belong to the process group, not to the operator table."""

TAKES_HOST_TENSORS = frozenset(
    ["index.Tensor", "index_put_", "index_put", "_index_put_impl_", "_unsafe_index.Tensor", "_unsafe_index_put"]
)
"""Operators that take indices from the host, as every device's do."""

_ALWAYS_RESIZES = frozenset({"resize_", "set_", "set_.source_Tensor"})
_DispatchKey: Any = torch._C.DispatchKey
EXPLICIT = (_DispatchKey.CompositeExplicitAutograd, _DispatchKey.CompositeExplicitAutogradNonFunctional)
IMPLICIT = _DispatchKey.CompositeImplicitAutograd
OWN = _DispatchKey.PrivateUse1


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the device makes of an operator in given dtypes.

    `refuse` makes the error where it refuses; `launches` are kernels started (0: metadata only); `fallback` runs on
    the host and pays for the way there and back; `unchecked` says why the parts of a composite could not be checked.
    """

    refuse: Callable[[], Refused] | None = None
    launches: int = 1
    fallback: bool = False
    unchecked: str = ""


@dataclass(slots=True, kw_only=True)
class Plan:
    """An operator as the emulator runs it.

    `returns` has, per result, the position or keyword of the argument that it is (in-place and `out=`), else None.
    `sparse` is the position of an argument that asks for sparse gradients; `written` are those it may resize.
    `redirect` runs it as other operators on device tensors.
    """

    name: str
    func: Any
    compute: Callable[..., Any]
    special: Callable[..., Any] | None
    redirect: Callable[..., Any] | None
    communicates: bool
    returns: tuple[int | str | None, ...]
    returns_fresh: bool
    written: tuple[int | str, ...]
    sparse: int | None
    always_resizes: bool
    flops: Callable[..., int] | None
    calls: int = 0
    verdicts: dict[tuple[torch.dtype, ...], Verdict] = field(default_factory=dict)
    known_flops: dict[Any, int] = field(default_factory=dict)


def operator_name(func: Any) -> str:
    """The name in operator tables: without `aten::` and without `.default`."""
    schema = func._schema
    return schema.name.removeprefix("aten::") + (f".{schema.overload_name}" if schema.overload_name else "")


def has_kernel(func: Any, key: Any) -> bool:
    """Whether PyTorch itself has a kernel of that kind."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key.name)


def explicit_key(func: Any) -> Any:
    """The dispatch key of the composite kernel that `func` has below autograd, else None."""
    return next((key for key in EXPLICIT if has_kernel(func, key)), None)


def decomposition_of(func: Any) -> Callable[..., Any] | None:
    """PyTorch's decomposition of `func`, which this device registers for whatever its table does not name."""
    from torch._decomp import decomposition_table

    return decomposition_table.get(func)


def _redirect(func: Any, listed: bool) -> Callable[..., Any] | None:
    """Custom operators run their own kernel for this device, or their composite one; implicit ones decompose."""
    if listed:
        return None
    if func.namespace != "aten" and (has_kernel(func, OWN) or explicit_key(func) is not None):

        def run_own(*args: Any, **kwargs: Any) -> Any:
            # asked at every call: a kernel for the device may be registered later than the operator
            return func._op_dk(OWN if has_kernel(func, OWN) else explicit_key(func), *args, **kwargs)

        return run_own
    if has_kernel(func, IMPLICIT):
        return func.decompose
    return None


def make_plan(
    func: Any, *, listed: bool, compute: Callable[..., Any] | None, special: Callable[..., Any] | None
) -> Plan:
    """The plan of `func`; `listed` says that the device's table names it, `compute` replaces the CPU's kernel."""
    name, schema = operator_name(func), func._schema
    communicates = func.namespace in COMMUNICATION
    places: dict[str, int | str] = {}
    written: list[int | str] = []
    for position, argument in enumerate(schema.arguments):
        alias = argument.alias_info
        if alias is not None and alias.is_write:
            place = argument.name if argument.kwarg_only else position
            written.append(place)
            places |= dict.fromkeys(alias.before_set, place)
    results = [r.alias_info for r in schema.returns]
    is_out = any(argument.is_out for argument in schema.arguments)
    moves = is_out or torch.Tag.inplace_view in func.tags or name in _ALWAYS_RESIZES
    returns = tuple(places[next(iter(a.before_set))] if a is not None and a.is_write else None for a in results)
    return Plan(
        name=name,
        func=func,
        compute=compute or func,
        special=special,
        redirect=None if communicates or special or compute else _redirect(func, listed),
        communicates=communicates,
        returns=returns,
        returns_fresh=returns == (None,) and not communicates,
        written=tuple(written) if moves else (),
        sparse=next((i for i, argument in enumerate(schema.arguments) if argument.name == "sparse"), None),
        always_resizes=name in _ALWAYS_RESIZES,
        flops=flop_registry.get(func.overloadpacket),
    )
