"""The text form of a graph: prints, and parses back. Pass tests are written in it, before and after on one screen.

    graph model
    input %x: float32[batch=2|3|5, 3]
    weight $w: float32[4, 3] parameter
    %y: float32[batch, 4] = linear(%x, $w, None) @layer1.0 "fc"
    return %y

`%` names computed values, `$` weights; a name that is no identifier stands in `<>`, with `\\x3e` for what would be read
otherwise. A size is a number or an expression over `%x.shape[0]`. Parsed weights are zeros.
The blocks of control flow follow its line:

    %z: float32[batch, 4] = if_(%mask)
      block
        %a: float32[batch, 4] = relu(%y)
        yield %a
      block
        yield %y
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from migrate.graph import control
from migrate.graph.builder import Builder
from migrate.graph.ir import Arg, Block, Graph, Node, Value
from migrate.graph.ops import Op, get_op
from migrate.graph.sizes import Dim, SizeOf, render
from migrate.graph.weights import Role, Weight


def print_graph(graph: Graph) -> str:
    """The graph as text."""
    lines = [f"graph {graph.name}"]
    lines += [
        f"input {_ref(v)}: {v.dtype}[{', '.join(_input_size(v, i) for i in range(v.rank))}]" for v in graph.inputs
    ]
    for value in graph.weights():
        assert value.weight is not None
        lines.append(f"weight {_ref(value)}: {value.dtype}{list(value.shape)} {value.weight.role}")
    lines += [line for node in graph.nodes for line in _print_node(node)]
    lines.append("return " + ", ".join(_ref(v) for v in graph.outputs))
    return "\n".join(lines) + "\n"


def _ref(value: Value) -> str:
    sigil = "$" if value.weight is not None else "%"
    return sigil + (value.name if re.fullmatch(r"\w+", value.name, re.ASCII) else f"<{_escape(value.name)}>")


def _escape(name: str) -> str:
    """A source's name with the characters that the text form gives a meaning to written as numbers."""
    return re.sub(
        r"[^\w./:-]", lambda m: f"\\U{ord(m[0]):08x}" if m[0] > "\xff" else f"\\x{ord(m[0]):02x}", name, flags=re.A
    )


def _unescape(text: str) -> str:
    return text.encode().decode("unicode_escape")


def _input_size(value: Value, axis: int) -> str:
    size = value.shape[axis]
    if not isinstance(size, Dim):
        return str(size)
    name = size.expr.name if isinstance(size.expr, SizeOf) else ""
    return f"{_escape(name) or 'size'}={'|'.join(str(v) for v in size.values)}"


def _shape(value: Value) -> str:
    return f"{_ref(value)}: {value.dtype}[{', '.join(_print_arg(s) for s in value.shape)}]"


def _print_node(node: Node) -> list[str]:
    args = [_print_arg(a) for a in node.args] + [f"{k}={_print_arg(a)}" for k, a in node.kwargs.items()]
    outputs = ", ".join(_shape(v) for v in node.outputs)
    scope = " @" + ".".join(_escape(part).replace(".", "\\x2e") for part in node.scope) if node.scope else ""
    origin = f" {', '.join(ascii(o) for o in node.origin)}" if node.origin else ""
    lines = [f"{outputs} = {node.op.name}({', '.join(args)}){scope}{origin}"]
    for block in node.blocks:
        lines.append("  " + f"block {', '.join(_shape(v) for v in block.inputs)}".rstrip())
        lines += [f"    {line}" for inner in block.nodes for line in _print_node(inner)]
        lines.append("    " + f"yield {', '.join(_ref(v) for v in block.outputs)}")
    return lines


def _print_arg(arg: Arg) -> str:
    if isinstance(arg, Value):
        return _ref(arg)
    if isinstance(arg, Dim):
        return render(arg, lambda leaf: f"{_ref(leaf.value)}.shape[{leaf.axis}]")
    if isinstance(arg, tuple | list):
        items = [_print_arg(a) for a in arg]  # pyright: ignore[reportUnknownVariableType]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if isinstance(arg, slice):
        return f"slice({_print_arg(arg.start)}, {_print_arg(arg.stop)}, {_print_arg(arg.step)})"
    return repr(arg)


def parse_graph(text: str) -> Graph:
    """The graph of a text; shapes and dtypes are inferred anew, not read.

    Raises:
        ValueError: with the line that cannot be read.
    """
    parser = _Parser()
    for line in text.strip().splitlines():
        try:
            parser.line(line.strip())
        except (KeyError, SyntaxError, AttributeError, IndexError) as fault:
            raise ValueError(f"cannot read the line {line.strip()!r}: {fault}") from fault
    return parser.builder.graph


_REF = re.compile(r"([%$])(?:(\w+)|<([^>]*)>)", re.ASCII)


@dataclass(slots=True)
class _Open:
    """Control flow whose blocks are being read."""

    op: Op
    names: list[str]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    place: tuple[tuple[str, ...], tuple[str, ...]]
    blocks: list[Block] = field(default_factory=list[Block])
    entered: AbstractContextManager[Block] | None = None


class _Parser:
    def __init__(self) -> None:
        self.builder = Builder()
        self.values: dict[str, Value] = {}
        self.open: list[_Open] = []

    def line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        match kind:
            case "graph":
                self.builder.graph.name = rest
            case "input":
                self._input(rest)
            case "weight":
                self._weight(rest)
            case "return":
                self.builder.graph.outputs = [self.values[name] for name in _names(rest)]
            case "block":
                self._block(rest)
            case "yield":
                self._yield(_names(rest))
            case "":
                pass
            case _:
                self._node(line)

    def _input(self, text: str) -> None:
        (name,) = _names(text.partition(": ")[0])
        dtype, _, sizes = text.partition(": ")[2].partition("[")
        shape: list[Any] = []
        for size in filter(None, (s.strip() for s in sizes.rstrip("]").split(","))):
            symbol, _, values = size.partition("=")
            shape.append((_unescape(symbol), tuple(int(v) for v in values.split("|"))) if values else int(size))
        self.values[name] = self.builder.input(name, dtype, shape)

    def _weight(self, text: str) -> None:
        (name,) = _names(text.partition(": ")[0])
        dtype, _, rest = text.partition(": ")[2].partition("[")
        sizes, _, role = rest.partition("]")
        shape = tuple(int(s) for s in sizes.split(",") if s.strip())
        known: Role = "parameter" if "parameter" in role else "buffer" if "buffer" in role else "unknown"
        weight = Weight(source=name, read=lambda: np.zeros(shape, dtype), source_shape=shape, role=known)
        made = Value(name, dtype, shape, weight=weight)
        self.values[name] = made

    def _node(self, line: str) -> None:
        head, _, call = line.partition(" = ")
        names = _defined(head)
        expression, scope, origin = _split_call(call)
        tree = ast.parse(_REF.sub(lambda m: f"V[{_name(m)!r}]", expression), mode="eval").body
        assert isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name)
        args = tuple(self._arg(a) for a in tree.args)
        kwargs = {k.arg or "": self._arg(k.value) for k in tree.keywords}
        op = get_op(tree.func.id)
        if op.blocks:
            self.open.append(_Open(op, names, args, kwargs, (scope, origin)))
            return
        self.builder.scope, self.builder.origin = scope, origin
        result = self.builder.call(op, args, kwargs)
        self._name(names, result if isinstance(result, tuple) else (result,))  # pyright: ignore[reportUnknownArgumentType]

    def _name(self, names: list[str], values: Sequence[Value]) -> None:
        for name, value in zip(names, values, strict=True):
            value.name = name
            self.values[name] = value

    def _block(self, text: str) -> None:
        holder = self.open[-1]
        if holder.op.name == "if_":
            holder.entered = self.builder.block()
        else:
            holder.entered = control.loop_body(self.builder, *holder.args[2:], dims=holder.kwargs["dims"])
        block = holder.entered.__enter__()
        self._name(_defined(text), block.inputs)
        holder.blocks.append(block)

    def _yield(self, names: list[str]) -> None:
        holder = self.open[-1]
        assert holder.entered is not None
        holder.blocks[-1].outputs = [self.values[name] for name in names]
        holder.entered.__exit__(None, None, None)
        if len(holder.blocks) < holder.op.blocks:
            return
        self.open.pop()
        self.builder.scope, self.builder.origin = holder.place
        if holder.op.name == "if_":
            outputs = control.if_(self.builder, holder.args[0], *holder.blocks)
        else:
            named = dict(zip(("trip_count", "condition", "carried", "scanned"), holder.args, strict=True))
            outputs = control.loop(self.builder, holder.blocks[0], **named, **holder.kwargs)
        self._name(holder.names, outputs)

    def _arg(self, node: ast.expr) -> Arg:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._arg(operand)
            case ast.Tuple(elts=items):
                return tuple(self._arg(item) for item in items)
            case ast.Subscript(value=ast.Name(id="V"), slice=ast.Constant(value=name)):
                return self.values[str(name)]
            case ast.Subscript(value=ast.Attribute(value=owner, attr="shape"), slice=ast.Constant(value=axis)):
                return self._arg(owner).shape[axis]
            case ast.BinOp(left=left, op=operation, right=right):
                return _BINARY[type(operation)](self._arg(left), self._arg(right))
            case ast.Call(func=ast.Name(id="slice"), args=bounds):
                return slice(*(self._arg(bound) for bound in bounds))
            case _:
                raise SyntaxError(f"unexpected {ast.unparse(node)}")


_BINARY: dict[type[ast.operator], Any] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Div: lambda a, b: a / b,
    ast.Mod: lambda a, b: a % b,
}


def _names(text: str) -> list[str]:
    return [_name(m) for m in _REF.finditer(text)]


def _name(match: re.Match[str]) -> str:
    return match[2] or _unescape(match[3])


def _defined(text: str) -> list[str]:
    """The names outside of brackets: those in them are of sizes."""
    while (less := re.sub(r"\[[^\[\]]*\]", "", text)) != text:
        text = less
    return _names(text)


def _split_call(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    end = _closing(text)
    rest = text[end + 1 :].strip()
    scope: tuple[str, ...] = ()
    if rest.startswith("@"):
        path, _, rest = rest[1:].partition(" ")
        scope = tuple(_unescape(part) for part in path.split("."))
    origin = ast.literal_eval(f"({rest},)") if rest.strip() else ()
    return text[: end + 1], scope, tuple(origin)


def _closing(text: str) -> int:
    depth = 0
    for index, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if depth == 0 and char == ")":
            return index
    raise SyntaxError("a parenthesis is not closed")
