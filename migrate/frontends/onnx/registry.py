"""Which function reads which ONNX operator. The folder `ops` is discovered; nothing is listed by hand."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, wraps
from typing import Any

from migrate.graph import InferenceError, Value

Handler = Callable[..., Any]
Arguments = tuple[str | None, ...]
_AXES = {"axis", "axes"}
# An axis after the last: where a matrix's columns are empty, a new one, a default that says nothing for a single scale.
_OWN_AXES = {"Flatten": 1, "OneHot": 1, "ConcatFromSequence": 1, "QuantizeLinear": 2, "DequantizeLinear": 2}
_MEASURED = {"QLinearConcat": 2}  # whose axes are counted, where it is not the first input


class Unsupported(Exception):
    """A handler met a form of its operator that it cannot express exactly."""

    def __init__(self, reason: str, todo: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.todo = todo


@cache
def parameters_of(handler: Handler) -> tuple[inspect.Parameter, ...]:
    """The parameters of a handler, in order."""
    return tuple(inspect.signature(handler).parameters.values())


def _known(axes: Any) -> list[int]:
    """The numbers of `axis` or `axes`, given as an attribute or as an input; none where they are not known."""
    if isinstance(axes, Value):
        axes = () if axes.static is None else tuple(axes.static.reshape(-1).tolist())
    return [axis for axis in (axes if isinstance(axes, tuple) else (axes,)) if isinstance(axis, int)]  # pyright: ignore[reportUnknownVariableType]


def _checked(handler: Handler, op_type: str) -> Handler:
    """The handler, called with axes that its first input has only: not every callable looks, and `%` hides a wrong one."""
    parameters = parameters_of(handler)[1:]
    if _AXES.isdisjoint(p.name for p in parameters):
        return handler
    names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    defaults = {p.name: p.default for p in parameters}

    @wraps(handler)
    def call(b: Any, *inputs: Any, **attributes: Any) -> Any:
        given = {**defaults, **dict(zip(names, inputs, strict=False)), **attributes}
        axes = [axis for name in _AXES for axis in _known(given.get(name))]
        own = len(axes) if op_type == "Unsqueeze" else _OWN_AXES.get(op_type, 0)
        rank = inputs[_MEASURED.get(op_type, 0)].rank
        places = max(rank + own, 1)  # a scalar counts as a vector of one
        for axis in axes:
            if not -places <= axis < places:
                raise InferenceError(f"axis {axis} is out of range for an input of rank {rank}")
        return handler(b, *inputs, **attributes)

    return call


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A registered handler: operator, domain, and the schema version from which it reads it.

    `learns` names the inputs that are trained where they are weights; `arguments` has, for an op of the graph that takes
    two inputs of one shape, the names of the inputs in the op's order (None for what is no input).
    """

    op_type: str
    domain: str
    since: int
    handler: Handler
    family: str
    place: str
    learns: frozenset[str] = frozenset()
    arguments: Mapping[str, Arguments] = field(default_factory=dict[str, Arguments])

    def input_name(self, index: int) -> str:
        """The handler's parameter that takes an input."""
        inputs = [p for p in parameters_of(self.handler)[1:] if p.kind is not p.KEYWORD_ONLY]
        return inputs[min(index, len(inputs) - 1)].name

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes that the handler takes."""
        return frozenset(p.name for p in parameters_of(self.handler) if p.kind is p.KEYWORD_ONLY)


_ENTRIES: dict[tuple[str, str], dict[int, Entry]] = {}


def onnx_op(
    op_type: str,
    *,
    since: int = 1,
    domain: str = "",
    learns: tuple[str, ...] = (),
    arguments: Mapping[str, Arguments] | None = None,
) -> Callable[[Handler], Handler]:
    """Register a handler for an operator from a schema version on.

    The handler's positional parameters are the operator's inputs (None where absent), its keyword-only parameters the
    attributes with the schema's defaults. The first parameter is the `OnnxBuilder`. An `axis` or `axes` counts the
    first input's axes. For `learns` and `arguments` see `Entry`.

    Raises:
        ValueError: the same operator and version is registered twice (both places are shown), or an input is named that
            is no parameter.
    """

    def register(handler: Handler) -> Handler:
        place = f"{handler.__module__}.{handler.__name__}"
        versions = _ENTRIES.setdefault((domain, op_type), {})
        if since in versions:
            raise ValueError(f"{op_type} since {since} is registered twice: {versions[since].place} and {place}")
        named = {*learns, *(name for names in (arguments or {}).values() for name in names if name)}
        if lost := named - {p.name for p in parameters_of(handler)}:
            raise ValueError(f"{place} names inputs that it does not take: {', '.join(sorted(lost))}")
        family = handler.__module__.rsplit(".", 1)[-1]
        versions[since] = Entry(
            op_type=op_type,
            domain=domain,
            since=since,
            handler=_checked(handler, op_type),
            family=family,
            place=place,
            learns=frozenset(learns),
            arguments=arguments or {},
        )
        return handler

    return register


@cache
def _discover() -> None:
    from migrate.frontends.onnx import ops

    for module in pkgutil.iter_modules(ops.__path__):
        importlib.import_module(f"{ops.__name__}.{module.name}")


def find(op_type: str, domain: str, opset: int) -> Entry | None:
    """The handler for an operator at an opset: the newest one that is not newer than the schema in force.

    A schema that a newer opset leaves unchanged keeps its handler.
    """
    _discover()
    versions = _ENTRIES.get((domain, op_type), {})
    usable = [since for since in versions if since <= opset]
    return versions[max(usable)] if usable else None


def entries() -> list[Entry]:
    """Every registered handler, by family, operator and version."""
    _discover()
    found = (entry for versions in _ENTRIES.values() for entry in versions.values())
    return sorted(found, key=lambda e: (e.family, e.op_type, e.domain, e.since))
