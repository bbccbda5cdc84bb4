"""From blocks to classes: equal bodies are one class, and what differs between them becomes an argument of its constructor.

Bodies are compared as texts with open numbers, members by constructor and attribute; never by numbers. Knows no template.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from migrate.codegen.class_names import doc_of, wanted_name
from migrate.codegen.class_texts import (
    dict_text,
    fill,
    held_by_list,
    held_in_lists,
    is_parameter,
    kind_of,
    list_text,
    loose_member,
    member,
    origin_of,
    reset,
    top_commas,
)
from migrate.codegen.holes import number
from migrate.codegen.layers import Arg
from migrate.codegen.lines import Body, Line
from migrate.codegen.names import Namespace, variables
from migrate.codegen.plan import ClassPlan, Function, Member, Parameter, Statement
from migrate.codegen.slots import (
    Slot,
    argument,
    derived_from,
    differs,
    given,
    is_size,
    parameter_name,
    parameters_of,
    scaled,
    slot_of,
)
from migrate.codegen.symbols import Symbols
from migrate.codegen.tree import Place, collect_levels
from migrate.codegen.widths import Widths
from migrate.graph.ir import Value

MAX_LINE = 88  # of a statement and its comment, without indentation


@dataclass(slots=True)
class _Class:
    """A class in the making and the places that are instances of it."""

    places: list[Place]
    level: int
    name: str
    slots: list[Slot] = field(default_factory=list[Slot])

    def arguments(self, place: Place) -> list[Arg]:
        """The constructor's arguments at one place."""
        at = self.places.index(place)
        return [argument(name, slot, at, self.slots) for name, slot in given(self.slots).items()]


class ClassBuilder:
    """Groups the places of a tree into classes. `bodies` has what each called place does; the root may have two functions."""

    def __init__(
        self, bodies: dict[Place, list[tuple[str, Body, str]]], symbols: Symbols, repeated: Place | None = None,
        widths: Widths | None = None,
    ) -> None:  # fmt: skip
        self.bodies, self.symbols, self.repeated, self.widths = bodies, symbols, repeated, widths
        self.of: dict[Place, _Class] = {}
        self.names = Namespace({*variables(), "Model"})
        self.config: dict[str, Any] = {}

    def build(self, root: Place) -> list[ClassPlan]:
        """The classes, inner ones first; the last is the model."""
        levels: dict[int, list[Place]] = {}
        collect_levels(root, levels)
        plans: list[ClassPlan] = []
        for level in sorted(levels):
            groups: dict[Any, list[Place]] = {}
            for place in levels[level]:
                groups.setdefault(("root",) if place is root else self._key(place), []).append(place)
            for places in groups.values():
                name = "Model" if places[0] is root else self.names.claim(wanted_name(places))
                made = _Class(places, level, name)
                self.of.update(dict.fromkeys(places, made))
                made.slots = self._slots(made, places[0] is root)
                plans.append(self._plan(made))
        return plans

    # ---- comparing

    def _key(self, place: Place) -> tuple[Any, ...]:
        bodies = tuple(
            (kind, tuple(body.parameters), tuple(line.text for line in body.lines), body.result)
            for kind, body, _ in self.bodies.get(place, [])
        )
        loose = tuple((attr, kind_of(v)) for attr, v in place.loose.items())
        return bodies, loose, place.cls, tuple((c.attr, self._member_key(c)) for c in place.children.values())

    def _member_key(self, place: Place) -> Any:
        if place.layer is not None:
            return place.layer.constructor, tuple(a.name for a in place.layer.args)
        if place is self.repeated and self.is_alike(place):
            return "num_layers", self._member_key(place.children["0"])
        if place.is_container:
            loose = tuple((attr, kind_of(v)) for attr, v in place.loose.items())
            return place.is_chain, loose, tuple((c.attr, self._member_key(c)) for c in place.children.values())
        return id(self.of[place])

    # ---- numbers that differ

    def _slots(self, made: _Class, is_root: bool) -> list[Slot]:
        columns = [self._numbers(place) for place in made.places]
        slots = [slot_of(rows[0][0], [arg for _, arg in rows]) for rows in zip(*columns, strict=True)]
        fields: dict[str, str] = {}
        space = Namespace({"self", "nn", "torch", "math", "F", "config"})
        members = {child.attr for child in made.places[0].children.values()} | set(made.places[0].loose)
        for slot in slots:
            is_argument = not is_root and bool(slot.arg.name) and (slot.arg.config or differs(slot))
            field = slot.arg.config
            slot.fixed = slot.attr is None and (bool(field) or (not is_argument and is_size(slot)))
            slot.derived = derived_from(slot, slots) if is_argument and not field else ""
            if field and not is_root:
                fields[field] = slot.given_as = fields.get(field) or space.claim(field)
            if (is_argument and not field and not slot.derived) or slot.fixed:
                slot.parameter = parameter_name(slot, slots, space, members)
            if is_argument and not field and not slot.derived:
                slot.given_as = slot.parameter
        return slots

    def _numbers(self, place: Place) -> list[tuple[str | None, Arg]]:
        """Every number of the class at one place, in a fixed order: members', tensors' sizes, the bodies'."""
        found: list[tuple[str | None, Arg]] = []
        for child in place.children.values():
            found += [(child.attr, arg) for arg in self._member_numbers(child)]
            found += [("", arg) for _, _, value in held_in_lists(child) for arg in self._axes(value)]
        for attr, value in place.loose.items():
            found += [(attr, arg) for arg in self._axes(value)]
        for _, body, _ in self.bodies.get(place, []):
            holes = zip(body.holes.values, body.holes.hints, body.holes.widths, strict=True)
            for k, (value, hint, is_width) in enumerate(holes):
                arg = Arg(hint if body.uses(k) else "", value)
                found.append((None, self.widths.share(arg) if self.widths and is_width else arg))
        return found

    def _axes(self, value: Value) -> list[Arg]:
        """The sizes of a tensor that a module holds itself."""
        args = [Arg("channels", size) for size in value.shape]
        widths = self.widths
        return [widths.share(a) if widths and widths.is_width(value, k) else a for k, a in enumerate(args)]

    def _member_numbers(self, place: Place) -> list[Arg]:
        if place.layer is not None:
            return list(place.layer.args)
        if place is self.repeated and self.is_alike(place):
            count = Arg("num_layers", len(place.children), config="num_layers")
            return [count, *self._member_numbers(place.children["0"])]
        if place.is_container:
            return [arg for child in place.children.values() for arg in self._member_numbers(child)]
        return self.of[place].arguments(place)

    def is_alike(self, place: Place) -> bool:
        """Whether the members of a list differ in nothing, so that there may be any number of them."""
        texts = {
            repr((self._member_key(c), [(a.name, a.value) for a in self._member_numbers(c)]))
            for c in place.children.values()
        }
        return len(texts) == 1

    # ---- printing

    def _plan(self, made: _Class) -> ClassPlan:
        place = made.places[0]
        slots = iter(made.slots)

        def take(default_text: Callable[[Slot], str] = lambda s: number(s.values[0])) -> tuple[Slot, str]:
            slot = next(slots)
            if slot.arg.config:
                field = f"config.{slot.arg.config}" if made.name == "Model" else slot.given_as
                return slot, scaled(field, slot.arg.ratio)
            return slot, default_text(slot) if slot.fixed else slot.derived or slot.parameter or default_text(slot)

        members = self._held(place, take)
        members += [loose_member(a, v, [take()[1] for _ in v.shape]) for a, v in place.loose.items()]
        kept: dict[str, str] = {}
        functions: list[Function] = []
        for kind, body, doc in self.bodies.get(place, []):
            texts: list[str] = []
            for _ in body.holes.values:
                slot, text = take()
                if slot.parameter:
                    kept[slot.parameter] = text
                texts.append(f"self.{slot.parameter}" if slot.parameter else text)
            functions.append(self._function(kind, body, doc, texts, made))
        members = [Member(attr=name, text=text) for name, text in kept.items()] + members
        return ClassPlan(
            name=made.name,
            doc=doc_of(made.places, lambda place: self.of[place].name),
            source=place.origin if made.name == "Model" else origin_of(place),
            level=made.level,
            annotations=tuple(
                Parameter(name=a, annotation="Tensor") for a, v in place.loose.items() if not is_parameter(v)
            ),
            parameters=() if made.name == "Model" else parameters_of(made.slots),
            members=tuple(members),
            resets=tuple(reset(a, v) for a, v in place.loose.items() if is_parameter(v)),
            functions=tuple(functions),
            uses=tuple(sorted(self._uses(place))),
            count=len(made.places),
            version=place.version,
        )

    def _held(self, place: Place, take: Callable[[], tuple[Slot, str]]) -> list[Member]:
        """The modules that a module holds, and the tensors that lists among them hold."""
        members: list[Member] = []
        for child in place.children.values():
            members.append(member(child.attr, self._construct(child, take)))
            for holder, attr, value in held_in_lists(child):
                sizes = [take()[1] for _ in value.shape]
                members.append(held_by_list(holder.reference(place), attr, value, sizes))
        return members

    def _uses(self, place: Place) -> set[str]:
        used: set[str] = set()
        for child in place.children.values():
            if child.is_container:
                used |= self._uses(child)
            elif child.layer is None:
                used.add(self.of[child].name)
        return used

    def _construct(self, place: Place, take: Callable[[], tuple[Slot, str]]) -> str:
        if place is self.repeated and self.is_alike(place):
            count = take()[1]
            return f"nn.Sequential(*({self._construct(place.children['0'], take)} for _ in range({count})))"
        if place.is_container:
            text = dict_text if place.is_dict else list_text
            return text(place, [(c.attr, self._construct(c, take)) for c in place.children.values()])
        args = place.layer.args if place.layer is not None else self.of[place].arguments(place)
        texts: list[str] = []
        for position, arg in enumerate(args):
            slot, text = take()
            if arg.is_default and not slot.given_as and not slot.derived and not slot.arg.config:
                continue
            texts.append(text if arg.positional and len(texts) == position else f"{arg.name}={text}")
        constructor = place.layer.constructor if place.layer is not None else self.of[place].name
        return f"{constructor}({', '.join(texts)})"

    def _function(self, name: str, body: Body, doc: str, texts: list[str], made: _Class) -> Function:
        statements = [
            Statement(
                text=fill(line.text, texts),
                comment=self._shape_comment(line, at, name, made, len(fill(line.text, texts))),
            )
            for at, line in enumerate(body.lines)
        ]
        result = fill(body.result, texts)
        many = top_commas(result)
        return Function(
            name=name,
            doc=doc,
            parameters=tuple(Parameter(name=n, annotation=a) for n, a in body.parameters),
            statements=tuple(statements),
            result=result,
            returns=f"tuple[{', '.join(['Tensor'] * many)}]" if many > 1 else "Tensor" if result else "None",
            runtime=body.runtime,
        )

    def _shape_comment(self, line: Line, at: int, name: str, made: _Class, length: int) -> str:
        """The shape after the line; where equal classes differ, the parameter that says how, or `_`."""
        if line.shown is None:
            return ""
        lines = [next(b for k, b, _ in self.bodies[p] if k == name).lines[at] for p in made.places]
        shapes = [self.symbols.shape(one.shown) for one in lines if one.shown is not None]
        if len({len(shape) for shape in shapes}) > 1 or len(shapes) < len(lines):
            return ""
        tokens: list[str] = []
        for sizes in zip(*shapes, strict=True):
            named = next((s.parameter for s in made.slots if s.parameter and s.values == list(sizes)), "_")
            tokens.append(str(sizes[0]) if len(set(sizes)) == 1 else named)
        text = f"[{', '.join(tokens)}]"
        fits = length + len(text) <= MAX_LINE
        return text if fits and any(t not in ("?", "_") for t in tokens) else ""
