"""Control flow as statements: `if` and `else`, `for` and `while`. The blocks themselves are modules, called in each branch.

    if sr == 16000:                            for step in x.unbind(1):
        y, state = self.on_true(x, state)          h = self.body(h, step)
    else:                                          steps.append(h)
        y, state = self.on_false(x, state)     y = torch.stack(steps, dim=1)

Knows the writer of the body that it stands in; no module tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from migrate.codegen.expressions import COMPARE, Expr
from migrate.codegen.tree import BlockCall, ControlCall
from migrate.codegen.variables import free_name
from migrate.graph.ir import Block, Value, tensors_in
from migrate.graph.sizes import Dim

if TYPE_CHECKING:
    from migrate.codegen.body import BodyWriter

_INDENT = "    "


def write_control(writer: BodyWriter, item: ControlCall) -> None:
    """Write a branch or a loop."""
    if item.node.op.name == "if_":
        _write_if(writer, item)
    else:
        _write_loop(writer, item)


def _assigned(names: Sequence[str], texts: Sequence[str]) -> list[str]:
    """All at once, since one may be read for another; nothing where each has its name already."""
    pairs = [(name, text) for name, text in zip(names, texts, strict=True) if name not in ("_", text)]
    if not pairs:
        return []
    return [f"{', '.join(name for name, _ in pairs)} = {', '.join(text for _, text in pairs)}"]


def _assignment(names: Sequence[str], text: str) -> str:
    """A statement that names what a call gives, where anything uses it."""
    return f"{', '.join(names)} = {text}" if any(name != "_" for name in names) else text


def _called(call: BlockCall, text: str, names: dict[Value, list[str]]) -> list[str]:
    """A call that gives each value the first of its names, and the other names after it."""
    targets = {value: next((n for n in names[value] if n != "_"), "_") for value in call.results}
    lines = [_assignment(list(targets.values()), text)]
    for value, target in targets.items():
        lines += [f"{name} = {target}" for name in dict.fromkeys(names[value]) if name not in ("_", target)]
    return lines


# ---- branches


def _write_if(writer: BodyWriter, item: ControlCall) -> None:
    given = item.node.args[0]
    condition, reads = writer.settle(item, given if isinstance(given, Value) else None)
    condition = condition if isinstance(given, Value) else Expr("self.training")
    texts = [_given(writer, *branch) for branch in zip(item.node.blocks, item.calls, strict=True)]
    names = writer.name(item, item.node.outputs, reads)
    branches = zip(item.node.blocks, item.calls, texts, strict=True)
    yes, no = (_branch(block, call, given, names) for block, call, given in branches)
    if yes:
        writer.write_lines(f"if {condition.text}:", *(_INDENT + line for line in yes))
        if no:
            writer.write_lines("else:", *(_INDENT + line for line in no))
    elif no:
        writer.write_lines(f"if not {condition.at_least(COMPARE)}:", *(_INDENT + line for line in no))


def _given(writer: BodyWriter, block: Block, call: BlockCall | None) -> list[str]:
    return [writer.tensor(v).text for v in block.outputs] if call is None else [writer.call(call).text]


def _branch(block: Block, call: BlockCall | None, given: list[str], names: list[str]) -> list[str]:
    if call is None:
        return _assigned(names, given)
    named: dict[Value, list[str]] = {}
    for value, name in zip(block.outputs, names, strict=True):
        named.setdefault(value, []).append(name)
    return _called(call, given[0], named)


# ---- loops


@dataclass(slots=True)
class _Loop:
    """A loop in the making. `names` are those of the carried values, `lists` those of what is stacked and used."""

    item: ControlCall
    taken: set[str]
    names: list[str] = field(default_factory=list[str])
    lists: dict[int, str] = field(default_factory=dict[int, str])
    going: str = ""
    index: str = ""

    @property
    def body(self) -> Block:
        """What is repeated."""
        return self.item.node.blocks[0]

    def claim(self, wanted: str) -> str:
        """A name that nothing has that the loop reads or gives."""
        name = free_name(wanted, self.taken, is_flow=False)
        self.taken.add(name)
        return name


def _write_loop(writer: BodyWriter, item: ControlCall) -> None:
    node, body, (call,) = item.node, item.node.blocks[0], item.calls
    trip_count, condition, carried, scanned = node.args
    _, reads = writer.settle(item)
    initial = [writer.tensor(v).text for v in carried]
    sources = [f"{writer.tensor(v).text}.unbind({_axis(d)})" for v, d in zip(scanned, node.kwargs["dims"], strict=True)]
    kept = {*item.captured, *tensors_in((trip_count, condition, scanned))}
    count = _count(writer, trip_count, scanned, node.kwargs["dims"])
    outputs = node.outputs[: len(carried)]
    stacked = [v for v in node.outputs[len(carried) :] if writer.is_used(v)]
    names = writer.name(item, outputs, reads, kept=kept, used=set(outputs))
    loop = _Loop(item, {*writer.alive(kept), *names}, names)
    loop.lists = {node.outputs.index(v): loop.claim("steps" if len(stacked) == 1 else "parts") for v in stacked}
    writer.write_lines(*_assigned(names, initial), *(f"{name}: list[Tensor] = []" for name in loop.lists.values()))
    if call is not None and body.inputs[0] in call.ext:
        loop.index = loop.claim("index")
    _write_header(writer, loop, condition, count, sources)
    _write_repeated(writer, loop, call)
    if loop.going:
        if loop.index and not count:
            writer.write_lines(f"{_INDENT}{loop.index} = {loop.index} + 1")
        if condition is True:
            writer.write_lines(f"{_INDENT}if not {loop.going}:", f"{_INDENT * 2}break")
    ends = writer.name(item, stacked, (), taken=set(loop.lists.values()))
    for value, end in zip(stacked, ends, strict=True):
        place = node.outputs.index(value)
        dim = node.kwargs["out_dims"][place - len(carried)]
        writer.write_lines(f"{end} = torch.stack({loop.lists[place]}{f', dim={_axis(dim)}' if dim else ''})")


def _axis(dim: int) -> str:
    return str(dim)


def _count(writer: BodyWriter, trip_count: Any, scanned: Sequence[Value], dims: Sequence[int]) -> str:
    """How often the loop runs at most; empty where only a condition ends it."""
    if scanned:
        return f"{writer.tensor(scanned[0]).text}.shape[{_axis(dims[0])}]"
    if trip_count is None:
        return ""
    if isinstance(trip_count, Value):
        return f"int({writer.tensor(trip_count).text})"
    return writer.size(trip_count) if isinstance(trip_count, Dim) else writer.holes.add(trip_count, "num_steps")


def _write_header(writer: BodyWriter, loop: _Loop, condition: Any, count: str, sources: list[str]) -> None:
    body = loop.body
    if condition is not None:
        loop.going = loop.claim("running")
        if isinstance(condition, Value):
            writer.write_lines(f"{loop.going} = {writer.tensor(condition).text}")
    pairs = [(loop.claim("step"), source) for source in sources]
    variables = [loop.index, *loop.names, *(name for name, _ in pairs)]
    writer.names.update(zip(body.inputs, variables, strict=True))
    if not count:
        if loop.index:
            writer.write_lines(f"{loop.index} = torch.zeros((), dtype=torch.int64, device={writer.device()})")
        writer.write_lines(f"while {loop.going}:" if isinstance(condition, Value) else "while True:")
        return
    if loop.index:
        pairs.insert(0, (loop.index, f"torch.arange({count}, device={writer.device()})"))
    pairs = pairs or [("_", f"range({count})")]
    given = ", ".join(source for _, source in pairs)
    given = f"zip({given}, strict=True)" if len(pairs) > 1 else given
    writer.write_lines(f"for {', '.join(name for name, _ in pairs)} in {given}:")
    if isinstance(condition, Value):
        writer.write_lines(f"{_INDENT}if not {loop.going}:", f"{_INDENT * 2}break")


def _write_repeated(writer: BodyWriter, loop: _Loop, call: BlockCall | None) -> None:
    """What an iteration does: the values that it carries on, and those that it appends."""
    body = loop.body
    names = [loop.going] * (len(body.outputs) - len(loop.item.node.outputs)) + loop.names
    wanted = [*names, *[""] * (len(body.outputs) - len(names))]
    appended = [(body.outputs[len(wanted) - len(loop.item.node.outputs) + k], name) for k, name in loop.lists.items()]
    if call is None:
        texts = [writer.tensor(v).text for v in body.outputs]
        lines = [f"{name}.append({writer.tensor(value).text})" for value, name in appended]
        lines += _assigned(names, texts[: len(names)])
    else:
        named: dict[Value, list[str]] = {value: [] for value in call.results}
        for value, name in zip(body.outputs, wanted, strict=True):
            if name and value in named:
                named[value].append(name)
        for value, found in named.items():
            if not found and any(value is v for v, _ in appended):
                found.append(loop.claim("part"))
        lines = _called(call, writer.call(call).text, named)
        lines += [f"{name}.append({named[value][0]})" for value, name in appended]
    writer.write_lines(*(_INDENT + line for line in lines or ["pass"]))
