"""Which function reads which Keras layer. The folder `ops` is discovered; nothing is listed by hand."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

Handler = Callable[..., Any]
Layout = Literal["keras", "first", "any"]
"""How a handler wants its inputs: as Keras has them, with the channels after the batch, or either way but all alike."""


class Unsupported(Exception):
    """A handler met a form of its layer that it cannot express exactly."""

    def __init__(self, reason: str, todo: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.todo = todo


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A registered handler, the variables that its layer may have, in Keras's order, and the layout that it wants."""

    cls: str
    handler: Handler
    family: str
    place: str
    variables: tuple[str, ...]
    layout: Layout
    is_operation: bool

    @property
    def options(self) -> frozenset[str]:
        """The entries of the configuration that the handler takes."""
        parameters = inspect.signature(self.handler).parameters.values()
        return frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


_ENTRIES: dict[tuple[str, bool], Entry] = {}


def keras_layer(
    *classes: str, variables: tuple[str, ...] = (), layout: Layout = "keras", operation: bool = False
) -> Callable[[Handler], Handler]:
    """Register a handler for classes of layers, or of operations (`keras.ops`) that a functional model calls by themselves.

    Its positional parameters are the builder and the tensors that the layer is called with; its keyword-only parameters
    are entries of the layer's configuration.

    Raises:
        ValueError: a class is registered twice; both places are shown.
    """

    def register(handler: Handler) -> Handler:
        place = f"{handler.__module__}.{handler.__name__}"
        for cls in classes:
            key = (cls, operation)
            if key in _ENTRIES:
                raise ValueError(f"{cls} is registered twice: {_ENTRIES[key].place} and {place}")
            _ENTRIES[key] = Entry(
                cls=cls,
                handler=handler,
                family=handler.__module__.rsplit(".", 1)[-1],
                place=place,
                variables=variables,
                layout=layout,
                is_operation=operation,
            )
        return handler

    return register


@cache
def _discover() -> None:
    from migrate.frontends.keras import ops

    for module in pkgutil.iter_modules(ops.__path__):
        importlib.import_module(f"{ops.__name__}.{module.name}")


def find(cls: str, operation: bool = False) -> Entry | None:
    """The handler for a class."""
    _discover()
    return _ENTRIES.get((cls, operation))


def entries() -> list[Entry]:
    """Every registered handler, by family and class."""
    _discover()
    return sorted(_ENTRIES.values(), key=lambda e: (e.family, e.is_operation, e.cls))
