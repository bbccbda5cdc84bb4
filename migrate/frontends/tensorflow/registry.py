"""Which function reads which TensorFlow operator. The folder `ops` is discovered; nothing is listed by hand."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

Handler = Callable[..., Any]
Layout = Literal["source", "first", "any", "laid"]
"""How a handler takes tensors: as TensorFlow has them; the first one with the channels after the batch, as its result;
either way but all alike, to be computed element by element; or as `Laid`, to see for itself."""


class Unsupported(Exception):
    """A handler met a form of its operator that it cannot express exactly."""

    def __init__(self, reason: str, todo: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.todo = todo


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A registered handler and the layout that it wants."""

    op: str
    handler: Handler
    family: str
    place: str
    layout: Layout

    @property
    def options(self) -> frozenset[str]:
        """The attributes that the handler takes."""
        return _options(self.handler)


@cache
def _options(handler: Handler) -> frozenset[str]:
    parameters = inspect.signature(handler).parameters.values()
    return frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


_ENTRIES: dict[str, Entry] = {}


def tf_op(*ops: str, layout: Layout = "source") -> Callable[[Handler], Handler]:
    """Register a handler for operators.

    Its positional parameters are the builder and the operator's inputs; its keyword-only parameters are attributes, with
    the defaults that TensorFlow gives them. It returns the outputs.

    Raises:
        ValueError: an operator is registered twice; both places are shown.
    """

    def register(handler: Handler) -> Handler:
        place = f"{handler.__module__}.{handler.__name__}"
        for op in ops:
            if op in _ENTRIES:
                raise ValueError(f"{op} is registered twice: {_ENTRIES[op].place} and {place}")
            family = handler.__module__.rsplit(".", 1)[-1]
            _ENTRIES[op] = Entry(op=op, handler=handler, family=family, place=place, layout=layout)
        return handler

    return register


@cache
def _discover() -> None:
    from migrate.frontends.tensorflow import ops

    for module in pkgutil.iter_modules(ops.__path__):
        importlib.import_module(f"{ops.__name__}.{module.name}")


def find(op: str) -> Entry | None:
    """The handler for an operator."""
    _discover()
    return _ENTRIES.get(op)


def entries() -> list[Entry]:
    """Every registered handler, by family and operator."""
    _discover()
    return sorted(_ENTRIES.values(), key=lambda e: (e.family, e.op))
