"""Patterns over the common graph: an expression as it is read, and the nodes that compute it.

    x, eps = Tensor("x"), Number("eps")
    centred = sub(x, mean(x, Rest("dim"), keepdim=True))
    div(centred, sqrt(add(mean(square(centred), ...), eps)))

A call matches a node of that op, `add` and `mul` in either order. A number matches one that is equal as a float32 is, also one
that an exporter stored as a tensor of one element. A name that occurs twice has to be the same thing twice. Knows no fusion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import isclose
from typing import Any

from migrate.graph.ir import Arg, Node, Value
from migrate.graph.parts import span
from migrate.graph.scalars import number_of

COMMUTES = {"add", "mul", "maximum", "minimum"}
# names of arguments that sources give by position as well as by name
SIGNATURES = {
    "mean": ("input", "dim", "keepdim"), "sum": ("input", "dim", "keepdim"), "softmax": ("input", "dim"),
    "clamp": ("input", "min", "max"), "dropout": ("input", "p", "training"), "pow": ("input", "exponent"),
    "layer_norm": ("input", "normalized_shape", "weight", "bias", "eps"),
    "rms_norm": ("input", "normalized_shape", "weight", "eps"),
    "group_norm": ("input", "num_groups", "weight", "bias", "eps"),
    "instance_norm": (
        "input", "running_mean", "running_var", "weight", "bias", "use_input_stats", "momentum", "eps",
    ),
    "vector_norm": ("input", "ord", "dim", "keepdim"), "hardtanh": ("input", "min_val", "max_val"),
    "cat": ("tensors", "dim"), "stack": ("tensors", "dim"),
    "var": ("input", "dim"), "gelu": ("input",), "log_softmax": ("input", "dim"),
}  # fmt: skip
RELATIVE = 1e-6  # half a unit in the last place of a float32, and what an exporter's own rounding adds


@dataclass(frozen=True, slots=True)
class Tensor:
    """Any value that is no single number."""

    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Number:
    """Any number."""

    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Rest:
    """Any argument: axes, a shape, a flag, None."""

    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a tensor along one axis: a slice of it, or an output of a split."""

    whole: str
    name: str

    def __repr__(self) -> str:
        return f"{self.whole}[{self.name}]"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an op. Arguments that are named here and that the node leaves out are the callable's defaults: None, False."""

    op: str
    args: tuple[Pattern, ...]
    kwargs: tuple[tuple[str, Pattern], ...] = ()

    def __repr__(self) -> str:
        given = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs)]
        return f"{self.op}({', '.join(given)})"


@dataclass(frozen=True, slots=True)
class Product:
    """A product of several factors, multiplied in any order; division by a number is multiplication by its inverse."""

    factors: tuple[Pattern, ...]

    def __repr__(self) -> str:
        return " * ".join(f"{f:.6g}" if isinstance(f, float) else repr(f) for f in self.factors)


@dataclass(frozen=True, slots=True)
class Either:
    """The first of these that matches, then the next. Shown as the first."""

    options: tuple[Pattern, ...]

    def __repr__(self) -> str:
        return repr(self.options[0])


Pattern = Tensor | Number | Rest | Part | Call | Product | Either | float | int | bool | str | tuple[Any, ...] | None


def call(op: str) -> Callable[..., Call]:
    """What makes the pattern of a call of the op."""

    def make(*args: Pattern, **kwargs: Pattern) -> Call:
        return Call(op, args, tuple(kwargs.items()))

    return make


def product(*factors: Pattern) -> Product:
    """The pattern of a product."""
    return Product(factors)


def either(*options: Pattern) -> Either:
    """The pattern of alternatives."""
    return Either(options)


def square(x: Pattern) -> Either:
    """The ways to write a square."""
    return Either((Call("pow", (x, 2.0)), Call("mul", (x, x)), Call("square", (x,))))


@dataclass(frozen=True, slots=True)
class Bound:
    """What names stand for, and the nodes that were matched, the last first."""

    names: dict[str, Any] = field(default_factory=dict[str, Any])
    nodes: tuple[Node, ...] = ()

    def bind(self, name: str, what: Any) -> Bound | None:
        """With one more name; None where it stands for something else."""
        if name in self.names:
            return self if same(self.names[name], what) else None
        return Bound({**self.names, name: what}, self.nodes)

    def through(self, node: Node) -> Bound:
        """With one more node."""
        return self if node in self.nodes else Bound(self.names, (*self.nodes, node))


def same(left: Any, right: Any) -> bool:
    """Whether two arguments are one thing: the same value, or equal numbers."""
    return left is right or (not isinstance(left, Value) and not isinstance(right, Value) and left == right)


def matches(pattern: Pattern, arg: Arg, bound: Bound) -> Iterator[Bound]:
    """Every way in which the pattern is the argument."""
    match pattern:
        case Either(options=options):
            for option in options:
                yield from matches(option, arg, bound)
        case Call():
            if isinstance(arg, Value) and arg.node is not None and len(arg.node.outputs) == 1:
                yield from call_matches(pattern, arg.node, bound)
        case Product(factors=factors):
            yield from _product(factors, arg, bound)
        case tuple():
            items: Sequence[Arg] = arg if isinstance(arg, tuple | list) else ()
            if len(items) == len(pattern):
                yield from _all([*zip(pattern, items, strict=True)], bound)
        case _:
            yield from _leaf(pattern, arg, bound)


def _leaf(pattern: Pattern, arg: Arg, bound: Bound) -> Iterator[Bound]:
    match pattern:
        case Tensor(name=name):
            found = bound.bind(name, arg) if isinstance(arg, Value) else None
        case Number(name=name):
            found = bound.bind(name, arg) if number_of(arg) is not None else None
        case Rest(name=name):
            found = bound.bind(name, arg)
        case Part(whole=whole, name=name):
            part = span(arg) if isinstance(arg, Value) else None
            named = bound.bind(whole, part.whole) if part is not None else None
            found = named.bind(name, part) if named is not None else None
        case bool() | str() | None:
            found = bound if arg is pattern or arg == pattern else None
        case int() | float():
            number = number_of(arg)
            found = bound if number is not None and isclose(number, pattern, rel_tol=RELATIVE) else None
        case _:
            raise TypeError(f"no pattern: {pattern!r}")
    if found is not None:
        yield found


def call_matches(pattern: Call, node: Node, bound: Bound) -> Iterator[Bound]:
    """Every way in which the pattern is a node's call."""
    if node.op.name != pattern.op or len(node.outputs) != 1:
        return
    given = dict(node.kwargs)
    names = SIGNATURES.get(pattern.op, ())
    positional = list(node.args)
    for name in names[len(positional) :]:
        if name in given and len(positional) < len(pattern.args) and names[len(positional)] == name:
            positional.append(given.pop(name))
    count = len(pattern.args)
    given |= dict(zip(names[count:], positional[count:], strict=False))
    if len(positional) < count or len(positional) > max(count, len(names)):
        return
    if any(arg is not None for name, arg in given.items() if name not in dict(pattern.kwargs)):
        return
    wanted: list[tuple[Pattern, Arg]] = [(want, given.get(name)) for name, want in pattern.kwargs]
    orders = [positional[:count]]
    if pattern.op in COMMUTES and count == 2:
        orders.append(orders[0][::-1])
    for order in orders:
        pairs = [*zip(pattern.args, order, strict=True), *wanted]
        yield from _all(pairs, bound.through(node))


def _all(pairs: list[tuple[Pattern, Arg]], bound: Bound) -> Iterator[Bound]:
    if not pairs:
        yield bound
        return
    (pattern, arg), *rest = pairs
    for found in matches(pattern, False if arg is None and pattern is False else arg, bound):
        yield from _all(rest, found)


def _product(factors: tuple[Pattern, ...], arg: Arg, bound: Bound) -> Iterator[Bound]:
    if len(factors) == 1:
        yield from matches(factors[0], arg, bound)
        return
    node = arg.node if isinstance(arg, Value) else None
    if node is None or len(node.args) != 2:
        return
    left, right = node.args
    inside = bound.through(node)
    if node.op.name == "div" and (divisor := number_of(right)):
        for index, factor in enumerate(factors):
            if isinstance(factor, int | float) and isclose(factor * divisor, 1.0, rel_tol=RELATIVE):
                yield from _product(factors[:index] + factors[index + 1 :], left, inside)
    if node.op.name != "mul":
        return
    for chosen in _parts(len(factors)):
        ours = tuple(factors[i] for i in chosen)
        others = tuple(f for i, f in enumerate(factors) if i not in chosen)
        for found in _product(ours, left, inside):
            yield from _product(others, right, found)


def _parts(count: int) -> Iterator[tuple[int, ...]]:
    """Every choice of some but not all of so many."""
    for size in range(1, count):
        yield from combinations(range(count), size)


def calls_in(pattern: Pattern) -> int:
    """How many calls the pattern holds at most: the larger, the more it says."""
    match pattern:
        case Call(args=args, kwargs=kwargs):
            return 1 + sum(map(calls_in, args)) + sum(calls_in(value) for _, value in kwargs)
        case Product(factors=factors):
            return len(factors) - 1 + sum(map(calls_in, factors))
        case Either(options=options):
            return max(map(calls_in, options))
        case _:
            return 0


def roots(pattern: Pattern) -> set[str]:
    """The ops of the node that the pattern may end in."""
    match pattern:
        case Call(op=op):
            return {op}
        case Product():
            return {"mul", "div"}
        case Either(options=options):
            return {op for option in options for op in roots(option)}
        case _:
            return set()
