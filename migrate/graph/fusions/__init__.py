"""Fusions upwards: several nodes that are one op of the vocabulary. One file per fusion, discovered; its name is the file's.

A fusion is one or more functions under `@fusion(pattern, ...)`: the cases as expressions, a check that returns what speaks
against it (None: nothing), and the function itself, which builds the op. It has to mean the same in the numbers and in the
gradients. Knows patterns and the builder; walks no graph (`passes/fuse.py` does).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from migrate.graph.builder import Builder
from migrate.graph.ir import Node, Value
from migrate.graph.pattern import Bound, Pattern, calls_in, roots

__all__ = ["Fusion", "Match", "all_fusions", "fusion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A place where a pattern fits: `match["x"]` is what a name stands for."""

    bound: Bound
    root: Node
    users: Callable[[Value], int]

    def __getitem__(self, name: str) -> Any:
        return self.bound.names[name]

    def get(self, name: str) -> Any:
        """What a name stands for, None where the case has no such name."""
        return self.bound.names.get(name)

    @property
    def output(self) -> Value:
        """What the matched expression computes."""
        return self.root.output

    def node_of(self, op: str) -> Node:
        """The matched node of an op."""
        return next(node for node in self.bound.nodes if node.op.name == op)


Check = Callable[[Match], str | None]
Rewrite = Callable[[Builder, Match], Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """Patterns that become one op: `check` says what speaks against it, `rewrite` builds it.

    One that is `inferred` is a guess at what the author meant. It is left out unless asked for.
    """

    name: str
    patterns: tuple[Pattern, ...]
    check: Check | None
    rewrite: Rewrite
    inferred: bool = False

    @property
    def title(self) -> str:
        """The first line of what the function says of itself."""
        return (self.rewrite.__doc__ or "").strip().split("\n")[0]


_FUSIONS: list[Fusion] = []


def fusion(*patterns: Pattern, check: Check | None = None, inferred: bool = False) -> Callable[[Rewrite], Rewrite]:
    """Register a case of the fusion that the function's file is named for."""

    def register(rewrite: Rewrite) -> Rewrite:
        name = rewrite.__module__.rpartition(".")[2]
        _FUSIONS.append(Fusion(name=name, patterns=patterns, check=check, rewrite=rewrite, inferred=inferred))
        return rewrite

    return register


@cache
def all_fusions() -> tuple[Fusion, ...]:
    """Every fusion, by name, in the order of its file."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return tuple(sorted(_FUSIONS, key=lambda each: each.name))


@cache
def by_root() -> dict[str, list[tuple[Pattern, Fusion]]]:
    """The patterns by the op they end in, those that say most first."""
    found: dict[str, list[tuple[Pattern, Fusion]]] = {}
    for each in all_fusions():
        for pattern in each.patterns:
            for op in roots(pattern):
                found.setdefault(op, []).append((pattern, each))
    for entries in found.values():
        entries.sort(key=lambda entry: -calls_in(entry[0]))
    return found
