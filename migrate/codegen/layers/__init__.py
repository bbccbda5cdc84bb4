"""Which nodes become layers of `torch.nn`: one file per op family, one decorated function per op, discovered.

A layer function takes a node's arguments by name and returns a `Layer`, or None where the node has to stay a function call (a
weight that is computed, say). Knows no module tree and no text.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from migrate.graph.ir import ByMode, Node, Value
from migrate.graph.sizes import Dim

__all__ = ["Arg", "Layer", "arguments", "layer", "layer_of", "weight_of"]

MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class Arg:
    """An argument of a constructor. One equal to its default is not printed unless it differs between equal classes.

    `config` names the field of ModelConfig that it is, or of which it is a multiple and part: `ratio` of it.
    """

    name: str
    value: Any
    default: Any = MISSING
    positional: bool = False
    config: str = ""
    ratio: tuple[int, int] = (1, 1)

    @property
    def is_default(self) -> bool:
        """Whether leaving it out means the same."""
        return self.default is not MISSING and type(self.value) is type(self.default) and self.value == self.default


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A layer: its constructor, what it is called with, and its tensors by attribute name.

    `role` is the attribute's name where the source gives none; `kind` says how the call is written (`plain`, `recurrent`
    or `attention`). The last inputs go `by_name`, before the `options` of the call. Tensors of a module inside have dotted
    names.
    """

    constructor: str
    args: tuple[Arg, ...]
    inputs: tuple[Value, ...]
    role: str
    tensors: Mapping[str, Value] = field(default_factory=dict[str, Value])
    kind: str = "plain"
    by_name: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for two calls of one layer; unique per call for layers without tensors."""
        tensors = tuple((name, id(value)) for name, value in self.tensors.items())
        return (self.constructor, tuple((a.name, repr(a.value)) for a in self.args), tensors)


Handler = Callable[..., Layer | None]
_LAYERS: dict[str, tuple[Handler, tuple[tuple[str, Any], ...], bool]] = {}


def layer(op: str, signature: str, *, only_in_lists: bool = False) -> Callable[[Handler], Handler]:
    """Register the layer of an op; `signature` names the op's arguments, as `input weight bias=None stride=1`.

    `only_in_lists`: the op is written as a call, except where it is a numbered member of its own (as in `nn.Sequential`).

    Raises:
        ValueError: the op has one.
    """

    def register(handler: Handler) -> Handler:
        if op in _LAYERS:
            raise ValueError(f"the layer of {op!r} is declared twice: {_LAYERS[op][0]} and {handler}")
        _LAYERS[op] = (handler, parse_signature(signature), only_in_lists)
        return handler

    return register


def parse_signature(signature: str) -> tuple[tuple[str, Any], ...]:
    """The names and defaults of a signature written as `input weight bias=None`."""
    parts = [part.partition("=") for part in signature.split()]
    return tuple((name, ast.literal_eval(value) if equals else MISSING) for name, equals, value in parts)


def arguments(node: Node, signature: tuple[tuple[str, Any], ...]) -> dict[str, Any] | None:
    """The node's arguments by name, defaults filled in; None where it has others."""
    names = [name for name, _ in signature]
    given = dict(zip(names, node.args, strict=False)) | node.kwargs
    if len(node.args) > len(names) or not set(given) <= set(names):
        return None
    filled = {name: default for name, default in signature if default is not MISSING} | given
    return filled if len(filled) == len(names) else None


def weight_of(value: Any, role: str = "parameter") -> bool:
    """Whether the argument is a tensor of the model with that role."""
    return isinstance(value, Value) and value.weight is not None and value.weight.role == role


def literal(value: Any) -> bool:
    """Whether an argument is known when the module is built."""
    if isinstance(value, tuple | list):
        return all(literal(item) for item in value)  # pyright: ignore[reportUnknownVariableType]
    return not isinstance(value, Value | Dim | ByMode)


@cache
def _discover() -> None:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def layer_of(node: Node, in_list: bool = False) -> Layer | None:
    """The layer that a node is, or None where it is a function call."""
    _discover()
    found = _LAYERS.get(node.op.name)
    if found is None or (found[2] and not in_list):
        return None
    given = arguments(node, found[1])
    if given is None:
        return None
    made = found[0](node, **given)
    return made if made is not None and all(literal(a.value) for a in made.args) else None


def same(value: Any) -> Any:
    """`(3, 3)` as `3`, and a list as a tuple: how a person writes a size for each axis."""
    if isinstance(value, tuple | list):
        items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        return items[0] if items and all(item == items[0] for item in items) else tuple(items)
    return value


def tensors(**named: Any) -> dict[str, Value]:
    """The tensors that are given."""
    return {name: value for name, value in named.items() if value is not None}


def of_dtype(value: Value) -> tuple[Arg, ...]:
    """The dtype argument, where the weights are not float32."""
    return () if value.dtype in ("float32", "float16", "bfloat16") else (Arg("dtype", f"torch.{value.dtype}"),)
