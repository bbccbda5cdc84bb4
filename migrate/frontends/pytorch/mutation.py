"""Operators that work in place, read as ones that do not: the name is bound anew, and with it all that shares its memory."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from migrate.frontends.pytorch.compare import Region
from migrate.frontends.pytorch.registry import Unsupported
from migrate.graph import Value

if TYPE_CHECKING:
    from migrate.frontends.pytorch.importer import Importer

Write = Callable[[Any, Value, Value], Value]
"""From the builder, the whole and its changed part to the changed whole."""


@dataclass(slots=True)
class _View:
    """A node that shows the memory of another: how it is taken from it, how a change is written back, and as of when."""

    base: Any
    take: Callable[[], Any]
    write: Write | None
    version: int


@dataclass(slots=True)
class Mutations:
    """What shares memory with what, and how often each node's memory was changed."""

    views: dict[Any, _View] = field(default_factory=dict[Any, _View])
    versions: dict[Any, int] = field(default_factory=dict[Any, int])

    def current(self, importer: Importer, node: Any) -> Any:
        """The value of a node now."""
        view = self.views.get(node)
        if view is not None:
            base = self.current(importer, view.base)
            version = self._version(view.base)
            if version != view.version:
                importer.env[node] = base if view.take is _same else view.take()
                view.version = version
                self.versions[node] = self._version(node) + 1
        return importer.env[node]

    def note(self, importer: Importer, node: Any, name: str, args: Any) -> None:
        """Remember that a node shows another's memory, or change what it works on in place."""
        if not args or isinstance(args[0], Region) or not hasattr(args[0], "op") or name.startswith("sym_"):
            return
        base = args[0]
        if name.endswith("_") and not name.endswith("__"):
            made = importer.env[node]
            if self.current(importer, base) is not made:
                self._assign(importer, base, made)
            self.views[node] = _View(base, _same, _whole, self._version(base))
            return
        write = _WRITES.get(name)
        if write is None and not _shows(node):
            return
        rest = args[1:]

        def take() -> Any:
            given, named = importer.value(args), {k: importer.value(v) for k, v in node.kwargs.items()}
            return importer.made(node, name, given, named)

        def put(b: Any, whole: Value, part: Value) -> Value:
            assert write is not None
            return write(b, whole, part, *map(importer.value, rest))

        self.views[node] = _View(base, take, None if write is None else put, self._version(base))

    def _assign(self, importer: Importer, node: Any, value: Any) -> None:
        if node.op == "placeholder":
            kept = importer.env[node].weight
            if kept is not None and kept.homes:
                raise Unsupported(f"the model changes its own {kept.source!r} while it runs")
        view = self.views.get(node)
        if view is not None:
            if view.write is None:
                raise Unsupported("a view is changed in place, and cannot be written back")
            whole = self.current(importer, view.base)
            self._assign(importer, view.base, view.write(importer.builder, whole, value))
            view.version = self._version(view.base)
        importer.env[node] = value
        self.versions[node] = self._version(node) + 1

    def _version(self, node: Any) -> int:
        return self.versions.get(node, 0)


def _shows(node: Any) -> bool:
    """Whether a node's results show the memory of what it is given, by its schema, or are parts of such results."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return node.target is operator.getitem
    return any(result.alias_info is not None for result in schema.returns)


def _same() -> Any:
    raise AssertionError("the base itself is the value")


def _whole(b: Any, whole: Value, part: Value) -> Value:
    del b, whole
    return part


def _reshaped(b: Any, whole: Value, part: Value, *_: Any) -> Value:
    return b.reshape(part, tuple(whole.shape))


def _transposed(b: Any, whole: Value, part: Value, *dims: Any) -> Value:
    del whole
    return b.transpose(part, *(dims or (-2, -1)))


def _permuted(b: Any, whole: Value, part: Value, dims: Any) -> Value:
    order = [0] * whole.rank
    for place, axis in enumerate(dims):
        order[axis % whole.rank] = place
    return b.permute(part, tuple(order))


def _selected(b: Any, whole: Value, part: Value, dim: int, index: Any) -> Value:
    return b.select_scatter(whole, part, dim, index)


def _sliced(
    b: Any, whole: Value, part: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Value:
    end = None if isinstance(end, int) and end >= 2**62 else end
    if not start and end is None and step == 1:
        return part
    return b.slice_scatter(whole, part, dim, start, end, step)


_WRITES: dict[str, Any] = {
    **dict.fromkeys(("view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze"), _reshaped),
    **dict.fromkeys(("transpose", "t"), _transposed),
    "permute": _permuted,
    "select": _selected,
    "slice": _sliced,
}
