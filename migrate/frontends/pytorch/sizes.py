"""Free sizes of a module's inputs: how a user names them, what export has left free, and where each is sampled.

Knows the programs of torch.export; builds no graph.
"""

from __future__ import annotations

import inspect
import os
import re
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from migrate.errors import Diagnostic, Exit, MigrateError, error
from migrate.frontends.pytorch.places import relative_file
from migrate.frontends.pytorch.program import SizeFact
from migrate.graph.sampling import FREE, LARGE, SMALL, UNEVEN, Sample

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.export import ExportedProgram

Names = dict[tuple[str, int], str]
"""Of each free size: the input and axis, and what the user calls it."""

DEFAULTS = (64, 96, 80, 112, 48, 72)
"""What sizes without a number are in the example: no two are equal, and none is a usual number of channels or heads."""
_FORM = re.compile(r"([^\W\d]\w*)(?:=(\d+))?")
_HIGHEST = 1 << 20
_HERE = str(Path(__file__).parent) + os.sep


def names_of(shapes: Mapping[str, Sequence[int | str]]) -> Names:
    """The names in sizes such as `(2, 3, "H", "W=64")`, by input and axis."""
    return {
        (name, axis): size.partition("=")[0]
        for name, sizes in shapes.items()
        for axis, size in enumerate(sizes)
        if isinstance(size, str) and axis  # the first is the batch, which stays free
    }


def numbers(sizes: Sequence[int | str], like: Any, taken: dict[str, int]) -> tuple[int, ...]:
    """The sizes of the example: a name's own number, what `like` has there, or one that no other name has.

    Args:
        sizes: numbers, names, or names with a number (`H=64`).
        like: the example so far, or None.
        taken: the numbers of names, which are added.

    Raises:
        MigrateError: exit status 2, MIG105: a size that cannot be read, or below 2, which torch takes to be fixed.
    """
    shape = getattr(like, "shape", ())
    found: list[int] = []
    for axis, size in enumerate(sizes):
        if isinstance(size, int):
            found.append(size)
            continue
        form = _FORM.fullmatch(size)
        if form is None or (form[2] and int(form[2]) < 2):
            todo = "write a free size as H or H=64, with 2 or more"
            raise MigrateError([error("MIG105", f"cannot read the size {size!r}", todo=todo)], Exit.USAGE)
        if form[2]:
            taken[form[1]] = int(form[2])
        elif len(shape) == len(sizes):
            taken.setdefault(form[1], int(shape[axis]))
        elif axis == 0:
            taken.setdefault(form[1], 2)
        else:
            taken.setdefault(form[1], next(n for n in (*DEFAULTS, *range(113, 999)) if n not in taken.values()))
        found.append(taken[form[1]])
    return tuple(found)


def named_tensors(module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Tensor]:
    """The arguments that are tensors, by the names of `forward`'s parameters."""
    import torch

    order = list(inspect.signature(module.forward).parameters)
    given = {**dict(zip(order, args, strict=False)), **kwargs}
    return {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}


@contextmanager
def fixed_places(places: dict[str, str]) -> Generator[None]:
    """Note the user's line at which torch gives a symbol a number, by the symbol's name."""
    import torch
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    replace: Any = ShapeEnv._set_replacement
    others = (torch.__path__[0], "<")

    def noted(self: Any, symbol: Any, value: Any, *rest: Any) -> Any:
        if not value.free_symbols:
            own = [f for f in traceback.extract_stack()[:-1] if not f.filename.startswith(others)]
            if not own[-1].filename.startswith(_HERE):  # else it is after the user's code
                places.setdefault(str(symbol), f"{relative_file(own[-1].filename)}:{own[-1].lineno}")
        return replace(self, symbol, value, *rest)

    ShapeEnv._set_replacement = noted  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        ShapeEnv._set_replacement = replace


def expression_of(size: Any) -> Any:
    """A size as an expression of symbols."""
    import sympy

    return sympy.Integer(size) if isinstance(size, int) else size.node.expr


def input_nodes(exported: ExportedProgram) -> list[Any]:
    """The placeholders of tensors that the module takes, in order."""
    import torch

    wanted = set(exported.graph_signature.user_inputs)
    nodes = [n for n in exported.graph.nodes if n.op == "placeholder" and n.name in wanted]
    return [n for n in nodes if isinstance(n.meta.get("val"), torch.Tensor)]


def fixed_sizes(
    exported: ExportedProgram, names: Names, facts: Sequence[SizeFact], places: Mapping[str, str]
) -> list[Diagnostic]:
    """A warning for each size that was to be free and is not, with the line that made it a number."""
    sampled = {(fact.input, fact.axis) for fact in facts if fact.samples}
    nodes = {node.name: node for node in input_nodes(exported)}
    found: list[Diagnostic] = []
    for (name, axis), called in names.items():
        size = nodes[name].meta["val"].shape[axis] if name in nodes else 0
        if (name, axis) in sampled:
            continue
        symbol = "" if isinstance(size, int) else str(size.node._expr)
        found.append(_fixed(name, axis, called, size, places.get(symbol) or places.get("", "")))
    return found


def _fixed(name: str, axis: int, called: str, size: Any, where: str) -> Diagnostic:
    return Diagnostic(
        code="MIG326",
        severity="warning",
        what=f"size {called} (axis {axis} of {name}) stays {size}",
        where=where,
        why="the model's code gives it that number",
        todo=f"let the line follow {name}.shape[{axis}], or accept the fixed size",
    )


def size_facts(exported: ExportedProgram, names: Names) -> tuple[SizeFact, ...]:
    """What has a name and is free: its range, and samples in order of preference, the first number the example's own.

    A sample meets the conditions on that size which export has noted. One name is one size, wherever it is.
    """
    nodes = {node.name: node for node in input_nodes(exported)}
    called: dict[str, tuple[Sample, ...]] = {}
    found: list[SizeFact] = []
    for (name, axis), text in names.items():
        size = nodes[name].meta["val"].shape[axis] if name in nodes else 0
        symbol = min(expression_of(size).free_symbols, key=str, default=None)
        if symbol is None:
            continue
        low, high = _range(exported, symbol)
        default = _hint(size, symbol)
        if text not in called:
            called[text] = tuple(_samples(default, low, high, len(called), _guard(exported, symbol)))
        fact = SizeFact(name=text, input=name, axis=axis, low=low, high=high, default=default, samples=called[text])
        found.append(fact)
    return tuple(found)


def _hint(size: Any, symbol: Any) -> int:
    """The size in the example. A size that is not the symbol itself is a multiple of it, or near one."""
    expression, hint = expression_of(size), size.node.hint
    if hint is None:
        return DEFAULTS[0]
    if expression == symbol:
        return int(hint)
    return next((n for n in range(2, int(hint) + 2) if expression.subs({symbol: n}) == hint), int(hint))


def _range(exported: ExportedProgram, symbol: Any) -> tuple[int, int | None]:
    found = exported.range_constraints.get(symbol)
    if found is None:
        return 2, None
    low = int(found.lower) if found.lower.is_number and found.lower.is_finite else 2
    high = int(found.upper) if found.upper.is_Integer and found.upper < _HIGHEST else None
    return max(low, 2), high


def _guard(exported: ExportedProgram, symbol: Any) -> Callable[[int], bool]:
    """Whether a number meets the conditions on this size alone that the export has met."""
    env = next((n.meta["val"].fake_mode.shape_env for n in input_nodes(exported)), None)
    alone = [guard.expr for guard in getattr(env, "guards", ()) if guard.expr.free_symbols == {symbol}]
    seen: dict[int, bool] = {}

    def legal(number: int) -> bool:
        if number not in seen:
            seen[number] = all(bool(condition.subs({symbol: number})) for condition in dict.fromkeys(alone))
        return seen[number]

    return legal


def _samples(default: int, low: int, high: int | None, place: int, legal: Callable[[int], bool]) -> Iterator[Sample]:
    """Triples that begin with the example's size: uneven, even, far and near steps; at last any legal neighbours."""
    some = False
    for table in (UNEVEN, FREE, LARGE, SMALL):
        row = table[place % len(table)]
        for sign in (1, -1):
            made = tuple(default + sign * (size - row[0]) for size in row)
            if all(low <= n and (high is None or n <= high) and legal(n) for n in made):
                yield made[0], made[1], made[2]
                some = True
                break
    if not some:
        near = range(max(low, default - 40), min(high or default + 40, default + 40) + 1)
        others = [n for n in near if n != default and legal(n)]
        if len(others) > place + 1:
            yield default, others[-1 - place], others[place]
