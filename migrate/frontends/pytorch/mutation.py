"""Operators that work in place, read as ones that do not: the name is bound anew, and with it all that shares its memory."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from migrate.frontends.pytorch.choices import Chosen
from migrate.frontends.pytorch.nodes import has_effect, is_higher_order, is_same, is_size, written
from migrate.frontends.pytorch.registry import Unsupported
from migrate.graph import Builder, Node, Value

if TYPE_CHECKING:
    from migrate.frontends.pytorch.importer import Importer
    from migrate.frontends.pytorch.program import Program

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
    """What shares memory with what, and how often each node's memory was changed.

    `kept` are the tensors that the model's modules hold, by the nodes whose values were changed; `read_before` those that
    something is computed from before; `stored` is what was last written into each.
    """

    views: dict[Any, _View] = field(default_factory=dict[Any, _View])
    versions: dict[Any, int] = field(default_factory=dict[Any, int])
    kept: dict[Any, Value] = field(default_factory=dict[Any, Value])
    read_before: set[Any] = field(default_factory=set[Any])
    stored: dict[Value, Node] = field(default_factory=dict[Value, Node])

    def copied(self) -> Mutations:
        """What is known now, to go back to."""
        views = {node: replace(view) for node, view in self.views.items()}
        return replace(self, views=views, versions=dict(self.versions), kept=dict(self.kept), stored=dict(self.stored))

    def store(self, builder: Builder, kept: Value, value: Value) -> None:
        """Write a content into a buffer; what the same module wrote there before is overwritten."""
        before = self.stored.get(kept)
        if before is not None and before.scope == builder.scope:
            builder.take_back(before)
        self.stored[kept] = builder.update(kept, value).node

    def current(self, importer: Importer, node: Any) -> Any:
        """The value of a node now."""
        view = self.views.get(node)
        if view is None and node in self.read_before and node not in self.kept:
            self._keep_old(importer, node)
        if view is not None:
            base = self.current(importer, view.base)
            version = self._version(view.base)
            if version != view.version:
                importer.env[node] = base if view.take is _same else view.take()
                view.version = version
                self.versions[node] = self._version(node) + 1
        if node not in importer.env:
            raise Unsupported("what training computes here depends on what follows it")
        return importer.env[node]

    def note(self, importer: Importer, node: Any, name: str, args: Any) -> None:
        """Remember that a node shows another's memory, or change what it works on in place."""
        import torch.fx

        if written(node) is not None:
            place = memory_of(importer.comparison.arguments[node][1].get("out", args[0]))
            if isinstance(place, torch.fx.Node):
                made = importer.env[node]
                if self.current(importer, place) is not made:
                    self.assign(importer, place, made)
                self.show(node, place)
            return
        if not args or not isinstance(args[0], torch.fx.Node) or name.startswith("sym_"):
            return
        base = args[0]
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

    def _keep_old(self, importer: Importer, node: Any) -> None:
        """Read a buffer as it was: what is computed from it has to outlive the change, for the backward pass."""
        kept = self.kept[node] = importer.env[node]
        importer.env[node] = importer.builder.clone(kept)

    def show(self, node: Any, base: Any) -> None:
        """A node is another name for what a base has."""
        self.views[node] = _View(base, _same, _whole, self._version(base))

    def assign(self, importer: Importer, node: Any, value: Any, store: bool = True) -> None:
        """Change what a node has, and what it shows; what the model's modules hold is written there, if to `store`."""
        view = self.views.get(node)
        if node.op == "placeholder" and view is None:
            kept = self.kept.setdefault(node, importer.env[node])
            if store and kept.weight is not None and kept.weight.homes:
                importer.store(kept, value)
        if view is not None:
            if view.write is None:
                raise Unsupported("a view is changed in place, and cannot be written back")
            whole = self.current(importer, view.base)
            self.assign(importer, view.base, view.write(importer.builder, whole, value), store)
            view.version = self._version(view.base)
        importer.env[node] = value
        self.versions[node] = self._version(node) + 1

    def _version(self, node: Any) -> int:
        return self.versions.get(node, 0)


def read_before(program: Program, partner: Mapping[Any, Any]) -> set[Any]:
    """The evaluation's inputs that either form computes something from before it changes them."""
    forms = [form for form in (program.evaluation, program.training) if form is not None]
    inputs = [node for form in forms for node in form.graph.nodes if node.op == "placeholder" and _is_float(node)]
    return {partner.get(node, node) for node in inputs if _is_read_before(node)}


def _is_float(node: Any) -> bool:
    return bool(getattr(getattr(node.meta.get("val"), "dtype", None), "is_floating_point", False))


def _is_read_before(node: Any) -> bool:
    writers = [user for user in node.users if _writes(user, node)]
    return any(user < writers[-1] and _reads(user, node) for user in node.users) if writers else False


def _writes(user: Any, node: Any) -> bool:
    if written(user) is node or (is_higher_order(user) and has_effect(user)):
        return True
    return _shows(user) and user.op == "call_function" and any(_writes(inner, user) for inner in user.users)


def _reads(user: Any, node: Any) -> bool:
    return not _writes(user, node) and not is_same(user) and not is_size(user)


def memory_of(arg: Any) -> Any:
    """The node whose memory an argument is: of a buffer that training alone has changed so far, the buffer's."""
    return arg.end[0] if isinstance(arg, Chosen) and arg.end[0].op == "placeholder" else arg


def _shows(node: Any) -> bool:
    """Whether a node's results show the memory of what it is given, by its schema, or are parts of such results."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return node.target is operator.getitem and _shows(node.args[0])
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
