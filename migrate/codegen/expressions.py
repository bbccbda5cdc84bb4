"""One node as a Python expression: operators, methods, `F.` and `torch.` calls, with the parentheses that are needed.

Numbers other than 0, 1, 2, -1, -2 are written as holes, since equal classes may differ in them. Knows no module tree.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import Any

from migrate.codegen.holes import AXIS, Holes, number
from migrate.codegen.layers import MISSING, parse_signature, same
from migrate.graph.ir import ByMode, Node, Value, tensors_in
from migrate.graph.sizes import Dim

ATOM, POWER, UNARY, PRODUCT, SUM, SHIFT, AND, XOR, OR, COMPARE, CHOICE = 20, 15, 14, 13, 12, 11, 10, 9, 8, 7, 1
_OPERATORS = {
    "add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT), "truediv": ("/", PRODUCT), "mod": ("%", PRODUCT),
    "floordiv": ("//", PRODUCT), "matmul": ("@", PRODUCT), "pow": ("**", POWER), "lt": ("<", COMPARE),
    "le": ("<=", COMPARE), "gt": (">", COMPARE), "ge": (">=", COMPARE), "and_": ("&", AND), "or_": ("|", OR),
    "xor": ("^", XOR), "lshift": ("<<", SHIFT), "rshift": (">>", SHIFT),
}  # fmt: skip
_OF_AXES = frozenset({"permute", "transpose", "squeeze", "unsqueeze", "flatten", "unbind", "flip", "select"})
_UNARY = {"neg": "-", "invert": "~"}
_METHODS = frozenset({
    "reshape", "permute", "transpose", "squeeze", "unsqueeze", "flatten", "unflatten", "split", "chunk", "unbind",
    "repeat_interleave", "mean", "sum", "amax", "amin", "argmax", "argmin", "cumsum", "cumprod", "all", "any", "std",
    "var", "prod", "masked_fill", "topk", "sort", "gather", "index_select", "select", "scatter", "scatter_add",
    "scatter_reduce", "clamp", "roll", "flip", "tril", "triu", "clone",
})  # fmt: skip
_SPREAD = frozenset({"reshape", "permute", "expand", "repeat"})
_ONE_FOR_ALL = frozenset(
    {"kernel_size", "stride", "padding", "dilation", "output_padding", "output_size", "scale_factor"}
)
_PARAMETERS = {"split_size_or_sections": "split_size"}
_REDUCTION = "input dim=None keepdim=False"
_CONV = "input weight bias=None stride=1 padding=0 dilation=1 groups=1"
_TRANSPOSED = "input weight bias=None stride=1 padding=0 output_padding=0 groups=1 dilation=1"
_MAX_POOL = "input kernel_size stride=None padding=0 dilation=1 ceil_mode=False return_indices=False"
_AVG_POOL = "input kernel_size stride=None padding=0 ceil_mode=False count_include_pad=True divisor_override=None"
_SIGNATURES = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _CONV),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _TRANSPOSED),
    **dict.fromkeys(("max_pool1d", "max_pool2d", "max_pool3d"), _MAX_POOL),
    **dict.fromkeys(("avg_pool2d", "avg_pool3d"), _AVG_POOL),
    "avg_pool1d": "input kernel_size stride=None padding=0 ceil_mode=False count_include_pad=True",
    **dict.fromkeys(("mean", "sum", "amax", "amin", "argmax", "argmin", "all", "any", "prod"), _REDUCTION),
    "cat": "tensors dim=0",
    "stack": "tensors dim=0",
    "split": "tensor split_size_or_sections dim=0",
    "chunk": "input chunks dim=0",
    "unbind": "input dim=0",
    "cumsum": "input dim",
    "topk": "input k dim=-1 largest=True sorted=True",
    "sort": "input dim=-1 descending=False",
    "linear": "input weight bias=None",
    "gelu": "input approximate='none'",
    "pad": "input pad mode='constant' value=None",
    "scaled_dot_product_attention": (
        "query key value attn_mask=None dropout_p=0.0 is_causal=False scale=None enable_gqa=False"
    ),
}


@dataclass(frozen=True, slots=True)
class Expr:
    """Text, how tightly it binds, and how many calls are nested in it."""

    text: str
    binds: int = ATOM
    depth: int = 0

    def at_least(self, binds: int) -> str:
        """The text, in parentheses where it binds less tightly than `binds`."""
        return self.text if self.binds >= binds else f"({self.text})"


@dataclass(slots=True, kw_only=True)
class Printer:
    """Prints nodes; `tensor` says how a value is written, `size` a leaf of a size, `device` where new tensors go.

    `roles` say what some values are for, `widths` which numbers of the node grow with the model's width.
    """

    tensor: Callable[[Value], Expr]
    size: Callable[[Dim], str]
    device: Callable[[], str]
    holes: Holes
    roles: Mapping[Value, str] = field(default_factory=dict[Value, str])
    widths: Collection[int] = ()

    def node(self, node: Node) -> Expr:
        """The expression of a node."""
        module, _, path = node.op.target.partition(":")
        if module == "operator":
            return self._operator(path, node)
        depth = 1 + max((self.tensor(v).depth for v in _tensors(node)), default=0)
        if module == "torch" and path.startswith("Tensor."):
            return Expr(self._method(path.removeprefix("Tensor."), node), ATOM, depth)
        if path in _METHODS and module == "torch" and node.args and isinstance(node.args[0], Value):
            return Expr(self._method(path, node), ATOM, depth)
        given = self._arguments(path, node, list(node.args))
        if node.op.makes:
            given.append(f"device={self.device()}")
        return Expr(f"{_prefix(module)}{path}({', '.join(given)})", ATOM, depth)

    def arg(self, value: Any, hint: str) -> Expr:
        """An argument."""
        if isinstance(value, Value):
            return self.tensor(value)
        if isinstance(value, Dim):
            text = self.size(value)
            return Expr(text, SUM if " " in text else ATOM)
        if isinstance(value, ByMode):
            return self._by_mode(value, hint)
        if isinstance(value, tuple | list):
            items = self._items(value, hint)  # pyright: ignore[reportUnknownArgumentType]
            text = ", ".join(i.text for i in items) + ("," if len(items) == 1 else "")
            return Expr(f"({text})", ATOM, max((i.depth for i in items), default=0))
        if isinstance(value, slice):
            return Expr(self._slice(value))
        if isinstance(value, str):
            return Expr(number(value))
        if value is Ellipsis:
            return Expr("...")
        text = self.holes.add(value, hint, hint != AXIS and type(value) is int and value in self.widths)
        negative = isinstance(value, int | float) and value < 0
        return Expr(text, UNARY if negative else ATOM)

    # ---- forms

    def _items(self, items: Sequence[Any], hint: str) -> list[Expr]:
        """The items of a tuple; the last two sizes of what is attended with are of heads."""
        named = ["size"] * (len(items) - 2) + ["num_heads", "head_dim"] if hint == "heads" else [hint] * len(items)
        return [self.arg(item, name) for item, name in zip(items, named[-len(items) :], strict=True)] if items else []

    def _hint(self, node: Node) -> str:
        cuts = node.op.name in ("reshape", "unflatten") and node.output.rank >= 4
        return "heads" if cuts and node.output in self.roles else _hint(node)

    def _by_mode(self, value: ByMode, hint: str) -> Expr:
        if value.training is True and value.evaluation is False:
            return Expr("self.training")
        training, evaluation = self.arg(value.training, hint), self.arg(value.evaluation, hint)
        return Expr(f"{training.text} if self.training else {evaluation.text}", CHOICE)

    def _operator(self, name: str, node: Node) -> Expr:
        if name == "getitem":
            base = self.arg(node.args[0], "index")
            return Expr(f"{base.at_least(ATOM)}[{self._index(node.args[1])}]", ATOM, base.depth)
        if name in _UNARY:
            inner = self.arg(node.args[0], "value")
            return Expr(f"{_UNARY[name]}{inner.at_least(UNARY)}", UNARY, inner.depth)
        symbol, binds = _OPERATORS[name]
        left, right = (self.arg(a, self._hint(node)) for a in node.args)
        weaker = symbol in ("**", "<", "<=", ">", ">=")
        first = left.at_least(binds + 1 if weaker else binds)
        second = right.at_least(binds if symbol == "**" else binds + 1)
        depth = max(left.depth, right.depth) + (binds != SUM)
        return Expr(f"{first} {symbol} {second}", binds, depth)

    def _method(self, name: str, node: Node) -> str:
        base = self.arg(node.args[0], "value")
        given = self._arguments(name, node, list(node.args[1:]), offset=1)
        return f"{base.at_least(ATOM)}.{name}({', '.join(given)})"

    def _arguments(self, name: str, node: Node, args: list[Any], offset: int = 0) -> list[str]:
        if name in _SPREAD and len(args) == 1 and isinstance(args[0], tuple | list) and args[0] and not node.kwargs:
            return [item.text for item in self._items(args[0], self._hint(node))]  # pyright: ignore[reportUnknownArgumentType]
        signature = signature_of(node.op.target)[offset:]
        if len(args) > len(signature):
            positional = [self.arg(a, self._hint(node)).text for a in args]
            return positional + [f"{key}={self.arg(a, key).text}" for key, a in node.kwargs.items()]
        given = {key: a for (key, _), a in zip(signature, args, strict=False)} | node.kwargs
        return self._named(given, dict(signature), node)

    def _named(self, given: dict[str, Any], signature: dict[str, Any], node: Node) -> list[str]:
        """Required arguments by position, the others by name, defaults left out."""
        texts: list[str] = []
        order = list(signature)
        by_position = 0
        for key, value in given.items():
            default = signature.get(key, MISSING)
            value = same(value) if key in _ONE_FOR_ALL and node.op.target.startswith("torch") else value
            value = _equal_parts(node, value) if key == "split_size_or_sections" else value
            if default is not MISSING and type(value) is type(default) and value == default:
                continue
            text = self.arg(value, _PARAMETERS.get(key, key) if key in signature else self._hint(node)).text
            required = default is MISSING and order[len(texts) : len(texts) + 1] == [key] and by_position == len(texts)
            by_position += required
            texts.append(text if required else f"{key}={text}")
        return texts

    def _index(self, index: Any) -> str:
        if isinstance(index, tuple):
            items = [self._index(item) for item in index]  # pyright: ignore[reportUnknownVariableType]
            return ", ".join(items) if items else "()"
        return self.arg(index, "index").text

    def _slice(self, value: slice) -> str:
        parts = [
            "" if part is None else self.arg(part, hint).text
            for part, hint in ((value.start, "start"), (value.stop, "stop"), (value.step, "step"))
        ]
        return ":".join(parts[:2]) + (f":{parts[2]}" if parts[2] else "")


def _tensors(node: Node) -> list[Value]:
    return list(tensors_in((node.args, node.kwargs)))


def _hint(node: Node) -> str:
    if node.op.name in _OF_AXES:
        return AXIS
    hints = {
        "reshape": "size", "unflatten": "size", "expand": "size", "full": "size", "mul": "factor", "add": "offset",
        "split": "sizes", "pad": "padding", "arange": "length",
    }  # fmt: skip
    return hints.get(node.op.name, "value")


def _equal_parts(node: Node, sizes: Any) -> Any:
    """One size where all parts have it; of size 0 torch would make but one part."""
    size = same(sizes)
    return size if len(sizes) == len(node.outputs) and isinstance(size, int) and size else sizes


def _prefix(module: str) -> str:
    if module == "torch.nn.functional":
        return "F."
    if module.startswith("torch"):
        return f"{module}."
    return f"{module.rpartition('.')[2]}."


@cache
def signature_of(target: str) -> tuple[tuple[str, Any], ...]:
    """The parameters of a callable and their defaults; empty where they cannot be known."""
    name = target.rpartition(":")[2].rpartition(".")[2]
    if name in _SIGNATURES and target.startswith("torch"):
        return parse_signature(_SIGNATURES[name])
    if target.startswith("torch:"):
        return ()
    module, _, path = target.partition(":")
    try:
        parameters = inspect.signature(attrgetter(path)(importlib.import_module(module))).parameters.values()
    except (ValueError, TypeError):
        return ()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return ()
    return tuple((p.name, MISSING if p.default is p.empty else p.default) for p in parameters)
