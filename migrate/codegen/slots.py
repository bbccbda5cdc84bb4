"""The numbers of a class that may differ between its instances, and what each is called. Knows no text of a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from migrate.codegen.class_texts import same_meaning
from migrate.codegen.holes import AXIS
from migrate.codegen.layers import Arg
from migrate.codegen.names import Namespace, identifier


@dataclass(slots=True)
class Slot:
    """A number that may differ: where it is (`attr` of the member, None for a body's), what it is called, its values.

    A size in a body that does not differ is `fixed`: an attribute of the module all the same, so that it has a name.
    """

    attr: str | None
    arg: Arg
    values: list[Any]
    parameter: str = ""
    fixed: bool = False


def differs(slot: Slot) -> bool:
    """Whether equal classes have different numbers there."""
    return any(repr(v) != repr(slot.values[0]) for v in slot.values)


def is_size(slot: Slot) -> bool:
    """Whether it is a whole number of a body that is no axis."""
    return slot.attr is None and type(slot.values[0]) is int and slot.arg.name not in ("", AXIS)


def parameter_name(slot: Slot, slots: list[Slot], space: Namespace, members: set[str]) -> str:
    """The name of the constructor's parameter for a slot: an earlier slot's where both always agree and mean the same."""
    for other in slots:
        if other is slot:
            break
        if other.parameter and other.values == slot.values and same_meaning(slot.arg, other.arg):
            return other.parameter
    wanted = slot.arg.config or slot.arg.name
    if slot.attr and (wanted in space or wanted in members):
        wanted = identifier(f"{slot.attr}_{slot.arg.name}")
    while wanted in members:
        wanted += "_"
    return space.claim(wanted)
