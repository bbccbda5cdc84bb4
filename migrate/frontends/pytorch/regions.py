"""What only training has, read as a dropout or as stochastic depth where it is one. Knows nodes and draws; pairs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from migrate.frontends.pytorch.nodes import short_name

_DRAWS = {"bernoulli", "bernoulli_", "rand", "rand_like"}
_OF_DROP_PATH = _DRAWS | {
    "new_empty", "empty", "div", "div_", "mul", "mul_", "add", "floor", "floor_", "new_ones", "ones", "to", "empty_like",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """What only training has: a dropout or stochastic depth, of which value, in which module, and how it is drawn."""

    value: Any
    node: Any
    op: str
    p: float
    each: bool = True
    scaled: bool = True


def region_of(ours: Any, end: Any, inside: Sequence[Any]) -> Region | None:
    """The region of the nodes `inside`, which lead from a value to `end`, if it is a dropout of any kind."""
    if [short_name(n) for n in inside] == ["dropout"] and end.args[2] is True:
        return Region(value=ours, node=end, op="dropout", p=end.args[1])
    if any(short_name(n) not in _OF_DROP_PATH for n in inside) or (found := _drawn(inside)) is None:
        return None
    p, shape, scaled = found
    if any(isinstance(size, int) and size != 1 for size in shape[1:]) or len(shape) != ours.meta["val"].dim():
        return None
    each = not (isinstance(shape[0], int) and shape[0] == 1)
    return Region(value=ours, node=end, op="drop_path", p=p, each=each, scaled=scaled)


def _drawn(inside: Sequence[Any]) -> tuple[float, list[Any], bool] | None:
    """The probability of dropping, the shape of the mask, and whether what stays is scaled."""
    draws = [n for n in inside if short_name(n) in _DRAWS]
    divided = [n for n in inside if short_name(n) in ("div", "div_")]
    if len(draws) != 1:
        return None
    (draw,) = draws
    if short_name(draw) in ("bernoulli", "bernoulli_") and isinstance(_probability(draw), float):
        keep, made = _probability(draw), draw.args[0]
        shape = next((a for a in made.args if isinstance(a, tuple | list)), None)
    elif short_name(draw) == "rand":
        added = [n for n in inside if short_name(n) == "add" and draw in n.all_input_nodes]
        keeps = [a for n in added for a in n.args if isinstance(a, float)]
        keep, shape = (keeps[0], draw.args[0]) if keeps else (None, None)
    else:
        return None
    if keep is None or shape is None or any(n.args[1] != keep for n in divided):
        return None
    return round(1.0 - keep, 12), list(shape), bool(divided)


def _probability(draw: Any) -> Any:
    """That of a draw, where it is a number; an argument that is the schema's default is left out of an exported program."""
    names = {a.name: a.default_value for a in draw.target._schema.arguments}
    return draw.args[1] if len(draw.args) > 1 else names.get("p")
