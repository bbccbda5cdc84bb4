"""The body of a `forward`: items to statements. A value used once, right where it is computed, is written in place.

Order of evaluation is kept. Numbers stay holes; shapes stay values, since equal classes may differ in them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from migrate.codegen.control_flow import write_control
from migrate.codegen.expressions import ATOM, Expr, Printer
from migrate.codegen.holes import Holes
from migrate.codegen.interface import SizeSources, leaf_size, sizes_of
from migrate.codegen.lines import Body, Line
from migrate.codegen.names import Namespace, identifier
from migrate.codegen.tree import (
    Block,
    BlockCall,
    ChainCall,
    ControlCall,
    FunctionCall,
    Item,
    LayerCall,
    Place,
    inputs_of,
    outputs_of,
    runtime_of,
)
from migrate.codegen.variables import input_names, output_names
from migrate.graph.ir import Node, Value, size_leaves
from migrate.graph.sizes import Dim, SizeOf, render

MAX_TEXT = 84
MAX_DEPTH = 3
_SHOWN = frozenset({
    "reshape", "permute", "transpose", "split", "chunk", "cat", "stack", "flatten", "unflatten", "unfold", "fold",
    "expand", "pixel_shuffle", "pixel_unshuffle", "interpolate", "getitem", "unbind", "squeeze", "unsqueeze", "repeat",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Pending:
    value: Value
    expr: Expr
    reads: tuple[Value, ...]
    item: Item


@dataclass(slots=True, kw_only=True)
class BodyWriter:
    """Writes one body. `weight` says how a tensor of the model is written in this block; `wanted` are the source's names."""

    place: Place
    items: Sequence[Item]
    ext: Sequence[Value]
    sizes: Sequence[Dim]
    results: Sequence[Value]
    sources: SizeSources
    weight: Callable[[Value], str]
    wanted: dict[Value, str] = field(default_factory=dict[Value, str])
    roles: Mapping[Value, str] = field(default_factory=dict[Value, str])
    widths: Mapping[Node, Collection[int]] = field(default_factory=dict[Node, Collection[int]])
    names: dict[Value, str] = field(default_factory=dict[Value, str])
    lines: list[Line] = field(default_factory=list[Line])
    holes: Holes = field(default_factory=Holes)
    _pending: list[_Pending] = field(default_factory=list[_Pending])
    _remaining: Counter[Value] = field(default_factory=Counter[Value])
    _size_names: dict[Dim, str] = field(default_factory=dict[Dim, str])
    _item: Item | None = None

    def write(self) -> Body:
        """All of it."""
        self.names.update(input_names(self.ext, self.wanted))
        self._name_sizes()
        for item in self.items:
            self._remaining.update(self._reads(item))
        self._remaining.update(v for v in self.results if v.weight is None)
        parameters = [(self.names[v], "Tensor") for v in self.ext]
        parameters += [(self._size_names[s], "int") for s in self.sizes]
        for item in self.items:
            self._add(item)
        return Body(
            parameters=parameters,
            lines=self.lines,
            result=self._result(),
            holes=self.holes,
            runtime=runtime_of(self.items),
        )

    # ---- items

    def _add(self, item: Item) -> None:
        if isinstance(item, ControlCall):
            write_control(self, item)
            return
        ins, outs = inputs_of(item), outputs_of(item)
        border = len(self._pending)
        while border and self._pending[border - 1].value in ins:
            border -= 1
        if any(p.value in ins for p in self._pending[:border]):
            self._flush(border)
            border = 0
        expr = self._render(item)
        if self._is_long(expr) and border < len(self._pending):
            self._flush(len(self._pending))
            border = 0
            expr = self._render(item)
        absorbed = self._pending[border:]
        del self._pending[border:]
        own = [v for v in self._reads(item) if v not in {p.value for p in absorbed}]
        reads = (*(v for p in absorbed for v in p.reads), *own)
        if self._can_wait(item, outs):
            self._pending.append(_Pending(outs[0], expr, reads, item))
        else:
            self._flush(border)
            self._emit(item, outs, expr.text, reads)

    def _can_wait(self, item: Item, outs: list[Value]) -> bool:
        if len(outs) != 1 or self._remaining[outs[0]] != 1 or (self.place, outs[0]) in self.sources.named:
            return False
        many = isinstance(item, FunctionCall) and item.node.op.many
        return not many and not (isinstance(item, LayerCall) and item.layer.kind == "recurrent")

    def _is_long(self, expr: Expr) -> bool:
        text = expr.text
        return self.holes.length(text) > MAX_TEXT or expr.depth > MAX_DEPTH

    def _flush(self, count: int) -> None:
        """Write the first pending expressions as statements."""
        waiting, self._pending = self._pending[:count], self._pending[count:]
        for p in waiting:
            self._emit(p.item, [p.value], p.expr.text, p.reads)

    def _emit(self, item: Item, outs: list[Value], text: str, reads: tuple[Value, ...]) -> None:
        names = self.name(item, outs, reads)
        unused = all(name == "_" for name in names)
        self.lines.append(Line(text=text if unused else f"{_target(item, names)} = {text}", shown=_shown(item, outs)))

    # ---- what control flow asks for

    def settle(self, item: ControlCall, last: Value | None = None) -> tuple[Expr, tuple[Value, ...]]:
        """Write what is pending, `last` excepted where it comes last; its text, and all that the item reads."""
        inline = bool(self._pending) and self._pending[-1].value is last
        self._flush(len(self._pending) - inline)
        self._item = item
        reads = [v for v in self._reads(item) if not inline or v is not last]
        text = self.tensor(last) if last is not None else Expr("")
        return text, (*reads, *(self._pending.pop().reads if inline else ()))

    def call(self, call: BlockCall) -> Expr:
        """The call of a block, with what it is given."""
        called = call.place.reference(self.place)
        return _call(called, [self.tensor(v) for v in call.ext], [self.size(s) for s in call.sizes])

    def is_used(self, value: Value) -> bool:
        """Whether anything reads it after where we are."""
        return self._remaining[value] > 0

    def alive(self, kept: Collection[Value] = ()) -> set[str]:
        """The variables that something reads after where we are, and those of `kept`."""
        alive = {name for v, name in self.names.items() if self._remaining[v] > 0 or v.weight or v in kept}
        return alive | set(self._size_names.values())

    def name(
        self,
        item: Item,
        outs: Sequence[Value],
        reads: tuple[Value, ...],
        *,
        kept: Collection[Value] = (),
        used: set[Value] | None = None,
        taken: Iterable[str] = (),
    ) -> list[str]:
        """Names of what an item makes; what it `reads` ends here where nothing else reads it and it is not `kept`."""
        self._remaining.subtract(reads)
        dying = {self.names[v]: v for v in reads if not self._remaining[v] and v not in kept}
        used = {v for v in outs if self._remaining[v]} if used is None else used
        names = output_names(item, outs, dying, {*self.alive(kept), *taken}, used, self.roles)
        self.names.update(zip(outs, names, strict=True))
        return names

    def write_lines(self, *texts: str) -> None:
        """Write statements as they are."""
        self.lines += [Line(text=t) for t in texts]

    def _result(self) -> str:
        if len(self.results) == 1 and len(self._pending) == 1 and self._pending[0].value is self.results[0]:
            return self._pending.pop().expr.text
        self._flush(len(self._pending))
        return ", ".join(self.tensor(v).text for v in self.results)

    # ---- texts

    def _render(self, item: Item) -> Expr:
        self._item = item
        if isinstance(item, FunctionCall):
            printer = Printer(
                tensor=self.tensor, size=self.size, device=self.device, holes=self.holes, roles=self.roles,
                widths=self.widths.get(item.node, ()),
            )  # fmt: skip
            return printer.node(item.node)
        assert not isinstance(item, ControlCall)
        called = item.place.reference(self.place)
        if isinstance(item, LayerCall):
            given = [self.tensor(v) for v in item.layer.inputs]
            return _layer_call(called, item, given)
        if isinstance(item, ChainCall):
            given = [self.tensor(v) for v in inputs_of(item)]
            return _call(called, given, [])
        return self.call(item)

    def tensor(self, value: Value) -> Expr:
        """How a tensor is written here."""
        if value.weight is not None:
            return Expr(self.names.get(value) or self.weight(value))
        found = next((p for p in self._pending if p.value is value), None)
        return found.expr if found else Expr(self.names[value])

    def size(self, size: Dim) -> str:
        """How a size is written here."""
        if size in self._size_names:
            return self._size_names[size]
        return render(size, self._leaf, literal=lambda number: self.holes.add(number, "factor"))

    def _leaf(self, leaf: SizeOf) -> str:
        value, axis = self.sources.read[id(self._item), leaf_size(leaf)]
        return f"{self.names[value]}.shape[{axis}]"

    def device(self) -> str:
        """How the device of what is computed here is written."""
        own = inputs_of(self._item) if self._item else []
        for value in (*own, *self.names):  # a variable stays bound, even when its value is not needed any more
            if self.names.get(value, "_") != "_":
                return f"{self.names[value]}.device"
        raise RuntimeError("a tensor is made where no tensor tells the device")

    def _reads(self, item: Item) -> list[Value]:
        """The variables that an item needs, those whose sizes it reads included."""
        sizes = [self.sources.read.get((id(item), leaf_size(leaf))) for s in sizes_of(item) for leaf in size_leaves(s)]
        return [*inputs_of(item), *(found[0] for found in sizes if found)]

    def _name_sizes(self) -> None:
        space = Namespace(self.names.values())
        for size in self.sizes:
            named = size.expr.name if isinstance(size.expr, SizeOf) else ""
            wanted = identifier(named, "size") if named else "size"
            self._size_names[size] = space.claim(wanted if len(wanted) > 1 else f"size_{wanted}")


def _call(called: str, given: list[Expr], sizes: list[str]) -> Expr:
    depth = 1 + max((g.depth for g in given), default=0)
    return Expr(f"{called}({', '.join([g.text for g in given] + sizes)})", ATOM, depth)


def _layer_call(called: str, item: LayerCall, given: list[Expr]) -> Expr:
    if item.layer.kind == "attention":
        return _attention_call(called, item, given)
    if item.layer.kind == "recurrent" and len(given) > 1:
        state = given[1].text if len(given) == 2 else f"({', '.join(g.text for g in given[1:])})"
        return Expr(f"{called}({given[0].text}, {state})", ATOM, 1 + max(g.depth for g in given))
    return _call(called, given, [])


def _attention_call(called: str, item: LayerCall, given: list[Expr]) -> Expr:
    """Masks by name; without weights the first of the pair is all that is used."""
    layer = item.layer
    first = len(given) - len(layer.by_name)
    texts = [g.text for g in given[:first]]
    texts += [f"{name}={g.text}" for name, g in zip(layer.by_name, given[first:], strict=True)]
    texts += [f"{name}={value}" for name, value in layer.options]
    alone = "[0]" if len(item.node.outputs) == 1 else ""
    return Expr(f"{called}({', '.join(texts)}){alone}", ATOM, 1 + max(g.depth for g in given))


def _target(item: Item, names: list[str]) -> str:
    if isinstance(item, LayerCall) and item.layer.kind == "recurrent" and len(names) == 3:
        unused = names[1:] == ["_", "_"]
        return f"{names[0]}, _" if unused else f"{names[0]}, ({names[1]}, {names[2]})"
    many = isinstance(item, FunctionCall) and item.node.op.many
    return f"({names[0]},)" if many and len(names) == 1 else ", ".join(names)


def _shown(item: Item, outs: list[Value]) -> Value | None:
    return outs[0] if isinstance(item, FunctionCall) and item.node.op.name in _SHOWN else None


def block_writer(
    block: Block,
    sources: SizeSources,
    weight: Callable[[Value], str],
    roles: Mapping[Value, str],
    widths: Mapping[Node, Collection[int]],
) -> BodyWriter:
    """The writer of an inner block's body."""
    return BodyWriter(
        place=block.place, items=block.items, ext=block.ext, sizes=block.sizes, results=block.results,
        sources=sources, weight=weight, roles=roles, widths=widths,
    )  # fmt: skip
