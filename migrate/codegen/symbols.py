"""How sizes are written for readers: the source's names, and simple multiples of them. For comments, never for code."""

from __future__ import annotations

from migrate.codegen.names import identifier
from migrate.graph.ir import Graph, Value
from migrate.graph.sizes import Dim, SizeOf, at

MAX_FACTOR = 128


class Symbols:
    """The named sizes of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.named: dict[Dim, str] = {}
        self.where: dict[str, str] = {}
        letters = iter("NLHWDKMPQRST")
        for value in graph.inputs:
            for axis, size in enumerate(value.shape):
                if not isinstance(size, Dim) or size in self.named:
                    continue
                given = size.expr.name if isinstance(size.expr, SizeOf) else ""
                name = identifier(given, "") if given else ("B" if size == graph.batch else next(letters, "size"))
                while not name or name in self.where:
                    name = f"{name}_" if name else "size"
                self.named[size] = name
                self.where[name] = f"{value.name}.shape[{axis}]"

    def token(self, size: int | Dim) -> int | str:
        """A size as a reader wants it: a number, a name, a simple multiple of a name, or `?`."""
        if not isinstance(size, Dim):
            return size
        if size in self.named:
            return self.named[size]
        for base, name in self.named.items():
            found = _multiple(size, base, name) or _part(size, base, name)
            if found:
                return found
        return "?"

    def shape(self, value: Value) -> tuple[int | str, ...]:
        """A shape, axis by axis."""
        return tuple(self.token(size) for size in value.shape)


def _multiple(size: Dim, base: Dim, name: str) -> str:
    factor = at(size, 0) // (at(base, 0) or 1)
    whole = 1 < factor <= MAX_FACTOR and all(v == b * factor for v, b in zip(size.values, base.values, strict=True))
    return f"{factor}*{name}" if whole else ""


def _part(size: Dim, base: Dim, name: str) -> str:
    low, high = at(size, 0), at(base, 0)
    for factor in (high // low, -(-high // low)) if low else ():
        if 1 < factor <= MAX_FACTOR and all(v == b // factor for v, b in zip(size.values, base.values, strict=True)):
            return f"{name}//{factor}"
    return ""
