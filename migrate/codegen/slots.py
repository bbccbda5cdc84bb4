"""The numbers of a class that may differ between its instances, and what each is called. Knows no text of a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from migrate.codegen.class_texts import CHANNELS, annotation, same_meaning
from migrate.codegen.holes import AXIS, number
from migrate.codegen.layers import MISSING, Arg
from migrate.codegen.names import Namespace, identifier
from migrate.codegen.plan import Parameter


@dataclass(slots=True)
class Slot:
    """A number that may differ: where it is (`attr` of the member, None for a body's), what it is called, its values.

    A size in a body that does not differ is `fixed`: an attribute of the module all the same, so that it has a name. One that
    follows from another in all instances is `derived`: a text with that other's name. `given_as` is the constructor's parameter
    that it is, or is written with; `shares` say for each instance of which field of the configuration it is a multiple or part.
    """

    attr: str | None
    arg: Arg
    values: list[Any]
    parameter: str = ""
    fixed: bool = False
    derived: str = ""
    given_as: str = ""
    shares: tuple[tuple[str, tuple[int, int]], ...] = ()

    @property
    def is_given(self) -> bool:
        """Whether the constructor is given it, or what it is a multiple or part of."""
        return bool(self.given_as)


def differs(slot: Slot) -> bool:
    """Whether equal classes have different numbers there."""
    return any(repr(v) != repr(slot.values[0]) for v in slot.values)


def is_size(slot: Slot) -> bool:
    """Whether it is a whole number of a body that is no axis."""
    return slot.attr is None and type(slot.values[0]) is int and slot.arg.name not in ("", AXIS)


def parameter_name(slot: Slot, slots: list[Slot], space: Namespace, members: set[str]) -> str:
    """The name of the constructor's parameter for a slot: an earlier slot's where both always agree and mean the same."""
    is_attribute = slot.attr is None  # a number of the body is kept as one, a module's is not
    for other in slots:
        if other is slot:
            break
        fits = other.parameter and not (is_attribute and other.parameter in members)
        alike = other.values == slot.values and other.fixed == slot.fixed and other.shares == slot.shares
        if fits and alike and same_meaning(slot.arg, other.arg):
            return other.parameter
    wanted = slot.arg.name if is_attribute else slot.arg.config or slot.arg.name
    if slot.attr and wanted in space:
        wanted = identifier(f"{slot.attr}_{slot.arg.name}")
    while is_attribute and wanted in members:
        wanted += "_"
    return space.claim(wanted)


def derived_from(slot: Slot, slots: list[Slot]) -> str:
    """A padding that keeps the size, as it is written for the kernel sizes before it; empty for any other number."""
    if slot.arg.name != "padding" or not all(type(value) is int for value in slot.values):
        return ""
    for other in slots[: slots.index(slot)]:
        same = other.attr == slot.attr and other.arg.name == "kernel_size" and other.is_given
        if same and all(
            type(k) is int and k % 2 and p == k // 2 for k, p in zip(other.values, slot.values, strict=True)
        ):
            return f"{other.given_as} // 2"
    return ""


def given(slots: list[Slot]) -> dict[str, Slot]:
    """The slots that a constructor is given, by parameter; those that are given by position come first."""
    found: dict[str, Slot] = {}
    for slot in slots:
        if slot.is_given:
            found.setdefault(slot.given_as, slot)
    return dict(sorted(found.items(), key=lambda item: not is_positional(*item)))


def is_positional(parameter: str, slot: Slot) -> bool:
    """Whether a constructor is given it by position: the channels that a layer is given so, under the layer's own name."""
    return slot.arg.positional and parameter in CHANNELS


def default_of(slot: Slot, slots: list[Slot]) -> Any:
    """The value that a constructor need not be given: a layer's own default that some instance has."""
    if slot.arg.config:
        return MISSING
    same = [other for other in slots if other.given_as == slot.given_as]
    defaults = {repr(other.arg.default) for other in same}
    used = any(repr(value) == repr(slot.arg.default) for value in slot.values)
    return slot.arg.default if len(defaults) == 1 and used else MISSING


def slot_of(attr: str | None, args: Sequence[Arg]) -> Slot:
    """The slot of a number, of its arguments in all instances."""
    values, shares = [arg.value for arg in args], tuple((arg.config, arg.ratio) for arg in args)
    slot = Slot(attr, args[0], values, shares=shares)
    if len(set(shares)) > 1 or (shares[0][0] and differs(slot)):
        slot.arg = replace(slot.arg, config="", ratio=(1, 1))
    return slot


def argument(name: str, slot: Slot, at: int, slots: list[Slot]) -> Arg:
    """What the constructor is given for a slot in one instance."""
    is_positional_ = is_positional(name, slot)
    if slot.arg.config:
        times, over = slot.arg.ratio
        base = slot.values[at] * over // times if slot.arg.ratio != (1, 1) else slot.values[at]
        return Arg(name, base, positional=is_positional_, config=slot.arg.config)
    config, ratio = slot.shares[at]
    return Arg(name, slot.values[at], default_of(slot, slots), is_positional_, config, ratio)


def scaled(text: str, ratio: tuple[int, int]) -> str:
    """A multiple and part of what a text says."""
    times, over = ratio
    return f"{f'{times} * ' if times != 1 else ''}{text}{f' // {over}' if over != 1 else ''}"


def parameters_of(slots: list[Slot]) -> tuple[Parameter, ...]:
    """The parameters of the constructor."""
    found: list[Parameter] = []
    for name, slot in given(slots).items():
        default = default_of(slot, slots)
        said = "" if default is MISSING else number(default)
        kind = annotation([*slot.values, default] if said else slot.values)
        found.append(Parameter(name=name, annotation=kind, default=said, positional=is_positional(name, slot)))
    return tuple(found)
