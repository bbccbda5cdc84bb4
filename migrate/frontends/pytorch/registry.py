"""Which function reads which ATen operator. The folder `ops` is discovered; nothing is listed by hand.

An operator without a function of its own is read by the graph's op of the same callable, where there is one.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from migrate.graph.ops import Op, all_ops

Handler = Callable[..., Any]
_PREFIXES = {
    "torch:Tensor.": "", "torch:": "", "torch.nn.functional:": "", "torch.linalg:": "linalg_", "torch.fft:": "fft_",
    "torch.special:": "special_",
}  # fmt: skip
"""Where torch's functions lie, and how ATen marks those of that place."""
_IGNORED = {"generator", "layout", "device", "pin_memory", "memory_format", "non_blocking", "copy", "inplace"}


class Unsupported(Exception):
    """A handler met a form of its operator that it cannot express exactly."""

    def __init__(self, reason: str, todo: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.todo = todo


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A registered handler and the operator that it reads: `aten.add` for all overloads, `aten.add.Tensor` for one."""

    name: str
    handler: Handler
    family: str
    place: str


_ENTRIES: dict[str, Entry] = {}


def aten_op(*names: str) -> Callable[[Handler], Handler]:
    """Register a handler for operators, named as in `torch.ops`: `aten.mean.dim`, or `aten.mean` for every overload.

    The handler's parameters are the builder and the operator's arguments in the order of its schema. An operator that
    works in place is read by the handler of the same name without the underscore.

    Raises:
        ValueError: an operator is registered twice; both places are shown.
    """

    def register(handler: Handler) -> Handler:
        place = f"{handler.__module__}.{handler.__name__}"
        family = handler.__module__.rsplit(".", 1)[-1]
        for name in names:
            if name in _ENTRIES:
                raise ValueError(f"{name} is registered twice: {_ENTRIES[name].place} and {place}")
            _ENTRIES[name] = Entry(name=name, handler=handler, family=family, place=place)
        return handler

    return register


@cache
def _discover() -> None:
    from migrate.frontends.pytorch import ops

    for module in pkgutil.iter_modules(ops.__path__):
        importlib.import_module(f"{ops.__name__}.{module.name}")


def entries() -> list[Entry]:
    """Every registered handler, by family and operator."""
    _discover()
    return sorted(_ENTRIES.values(), key=lambda e: (e.family, e.name))


def find(packet: str, overload: str) -> Handler | None:
    """The handler of an operator: its overload's own, its packet's, or the graph's op of that callable."""
    _discover()
    entry = _ENTRIES.get(f"{packet}.{overload}") or _ENTRIES.get(packet)
    if entry is not None:
        return entry.handler
    op = _declared().get(packet.removeprefix("aten."))
    return _of_declaration(op, packet, overload) if op is not None else None


def find_higher_order(name: str) -> Handler | None:
    """The handler of an operator that takes graphs, registered as `higher_order.cond`."""
    _discover()
    entry = _ENTRIES.get(f"higher_order.{name}")
    return entry.handler if entry is not None else None


@cache
def _declared() -> dict[str, Op]:
    """The graph's ops by the name that their callable has among torch's functions."""
    found: dict[str, Op] = {}
    for op in all_ops():
        prefix = next((p for p in _PREFIXES if op.target.startswith(p)), None)
        if prefix is not None:
            found[_PREFIXES[prefix] + op.target.removeprefix(prefix)] = op
    return found


def _of_declaration(op: Op, packet: str, overload: str) -> Handler:
    """Call the op with the operator's arguments, which are its own."""
    import torch

    operator: Any = getattr(getattr(torch.ops.aten, packet.removeprefix("aten.")), overload)
    schema = operator._schema.arguments
    accepted = _names(op)

    def call(b: Any, *args: Any, **kwargs: Any) -> Any:
        given = {a.name: v for a, v in zip(schema, args, strict=False)} | kwargs
        given = {name: v for name, v in given.items() if name not in _IGNORED}
        if accepted is None:
            return b.call(op, *_as_written(schema, given))
        first, *rest = given.items()
        unknown = [name for name, value in rest if name not in accepted and not _is_default(schema, name, value)]
        if unknown:
            raise Unsupported(f"argument {unknown[0]} = {given[unknown[0]]!r}")
        return b.call(op, (first[1],), {name: v for name, v in rest if name in accepted})

    return call


def _as_written(schema: Any, given: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments without those that have their default; what comes after one that is left out goes by its name."""
    positional, named = list[Any](), dict[str, Any]()
    left_out = False
    for argument in schema:
        name = argument.name
        if name not in given or (not argument.kwarg_only and _is_default(schema, name, given[name])):
            left_out = True
        elif left_out or argument.kwarg_only:
            named[name] = _fixed(given[name])
        else:
            positional.append(_fixed(given[name]))
    return tuple(positional), named


def _fixed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) and all(isinstance(item, int) for item in value) else value


def _is_default(schema: Any, name: str, value: Any) -> bool:
    return any(a.name == name and a.default_value == value for a in schema)


@cache
def _names(op: Op) -> frozenset[str] | None:
    """The parameters of a function written in Python; None for a built-in, whose arguments are the operator's."""
    try:
        parameters = inspect.signature(op.callable()).parameters.values()
    except (ValueError, TypeError):
        return None
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return None
    return frozenset(p.name for p in parameters)
