"""Final names of modules and tensors: attributes, state_dict keys, and which tensors are tied to which.

Knows the tree and `names.py`; no text of a body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from migrate.codegen.layers.recurrent import stepwise_names
from migrate.codegen.names import Namespace, identifier, kept_attribute, kept_key, module_attributes
from migrate.codegen.plan import TensorPlan
from migrate.codegen.tree import Block, ChainCall, ControlCall, FunctionCall, Item, LayerCall, Place, blocks_of
from migrate.graph.ir import Value, tensors_in

_ROLE_OF_OP = {
    "mul": "scale", "div": "scale", "add": "bias", "sub": "bias", "matmul": "weight", "linear": "weight",
    "embedding": "table", "cat": "token", "expand": "token", "pow": "exponent", "where": "fill", "index_select": "table",
    "gather": "table", "batch_norm": "scale", "layer_norm": "scale", "einsum": "weight", "fake_quantize": "weight",
}  # fmt: skip
_PARTS = ("weight_ih_l", "weight_hh_l", "bias_ih_l", "bias_hh_l", "weight_peephole_l")
_WORD = re.compile(r"[A-Za-z][A-Za-z_]{2,}")
_NO_NAMES = {
    "output",
    "value",
    "const",
    "constant",
    "tensor",
    "init",
    "param",
    "sizes",
    "initializer",
    "shape",
    "weights",
}


@dataclass(slots=True)
class Owners:
    """Who holds each tensor: `keys[value]` is the place and attribute; `ties` are (place, attribute, value) beyond that."""

    keys: dict[Value, tuple[Place, str]] = field(default_factory=dict[Value, tuple[Place, str]])
    ties: list[tuple[Place, str, Value]] = field(default_factory=list[tuple[Place, str, Value]])

    def text(self, value: Value, base: Place) -> str:
        """How the code of `base` writes the tensor."""
        for place, attr, tied in ((*self.keys[value], value), *self.ties):
            if tied is value and place.is_within(base):
                return f"{place.reference(base)}.{attr}"
        raise KeyError(f"{value} has no name in {base.key or 'the model'}")

    def holds(self, value: Value, base: Place) -> bool:
        """Whether the module or one of its members holds the tensor."""
        places = [place for place, _, tied in self.ties if tied is value]
        places += [self.keys[value][0]] if value in self.keys else []
        return any(place.is_within(base) for place in places)


def all_places(place: Place) -> Iterator[Place]:
    """A module and all below it, in order."""
    yield place
    for child in place.children.values():
        yield from all_places(child)


def assign_names(root: Block) -> Owners:
    """Name every module and tensor."""
    for place in all_places(root.place):
        _name_members(place)
    owners = Owners()
    for place in all_places(root.place):
        for attr, value in {**(place.layer.tensors if place.layer else {}), **place.loose, **place.made}.items():
            _own(owners, place, attr, value)
    for block in blocks_of(root):
        _loose_tensors(block, owners)
        for value in block.results:
            if value.weight is not None and value not in block.ext and not owners.holds(value, block.place):
                _hold(owners, block.place, value, "constant")
    return owners


def _own(owners: Owners, place: Place, attr: str, value: Value) -> None:
    if value in owners.keys:
        owners.ties.append((place, attr, value))
    else:
        owners.keys[value] = (place, attr)


def _name_members(place: Place) -> None:
    if place.is_list:
        _number(place)
        return
    if place.is_dict:
        for segment, child in place.children.items():
            child.attr = segment if kept_key(segment) or kept_attribute(segment) else identifier(segment)
        return
    space = Namespace(module_attributes())
    children = list(place.children.items())
    place.loose = {
        attr if kept_attribute(attr) else space.claim(identifier(attr)): v for attr, v in place.loose.items()
    }
    for attr in place.loose:
        space.take(attr)
    for segment, child in children:
        if child.cls and (kept_attribute(segment) or kept_key(segment)):
            child.attr = segment
            space.take(segment)
    for segment, child in children:
        if "\0" not in segment and not child.attr:
            child.attr = space.claim(identifier(segment, identifier(place.segment, "block")))
    roles = [segment.split("\0")[0] for segment, _ in children if "\0" in segment]
    for segment, child in children:
        role, mark, _ = segment.partition("\0")
        if mark:
            child.attr = _numbered(role, space, roles.count(role) > 1)


def _numbered(role: str, space: Namespace, many: bool) -> str:
    number = 1
    while many and f"{role}{number}" in space:
        number += 1
    return space.claim(f"{role}{number}" if many else role)


def _number(place: Place) -> None:
    """Members of a list keep their numbers, unless most of the numbers are missing."""
    members = sorted(place.children.items(), key=lambda m: int(m[0]))
    sparse = int(members[-1][0]) + 1 > 2 * len(members) + 4 and not place.cls
    for position, (segment, child) in enumerate(members):
        child.attr = str(position) if sparse else segment
    place.children = dict(members)


# ---- tensors that a module holds itself


def _loose_tensors(block: Block, owners: Owners) -> None:
    for item in block.items:
        for call in item.calls if isinstance(item, ChainCall) else [item]:
            for value, role in _read_by(call):
                if value not in block.ext and not owners.holds(value, block.place):
                    _hold(owners, block.place, value, role)


def _read_by(item: Item) -> Iterator[tuple[Value, str]]:
    if isinstance(item, LayerCall):
        yield from ((v, "constant") for v in item.layer.inputs if v.weight is not None)
    if isinstance(item, ControlCall):
        given = [v for b, call in zip(item.node.blocks, item.calls, strict=True) if call is None for v in b.outputs]
        given += tensors_in((item.node.args, item.node.kwargs))
        yield from ((v, "state" if v.is_float else "constant") for v in given if v.weight is not None)
    if isinstance(item, FunctionCall):
        op = item.node.op.name
        named = stepwise_names(item.node)
        for value in tensors_in((item.node.args, item.node.kwargs)):
            if value.weight is not None:
                usual = "kernel" if op.startswith("conv") else _ROLE_OF_OP.get(op, "constant")
                yield value, named.get(value, usual)


def _hold(owners: Owners, place: Place, value: Value, role: str) -> None:
    space = Namespace(module_attributes())
    for child in place.children.values():
        space.claim(child.attr)
    for attr in place.loose:
        space.claim(attr)
    attr = space.claim(_wanted(value, place, role))
    place.loose[attr] = value
    _own(owners, place, attr, value)


def _wanted(value: Value, place: Place, role: str) -> str:
    """The last part of the source's name where that is a word, else what the tensor is for."""
    assert value.weight is not None
    last = re.split(r"[./:]", value.weight.source)[-1]
    if role.startswith(_PARTS):  # the source has one tensor for several
        return role
    if _WORD.fullmatch(last) and last.lower() not in _NO_NAMES and not last.lower().startswith("constant"):
        return identifier(last, role)
    if value.weight.role != "parameter":
        kind = "mask" if value.dtype == "bool" else "index" if "int" in value.dtype else ""
        role = kind or ("constant" if role in ("weight", "token", "bias") else role)
    return role


# ---- what others read


def tensor_plans(root: Block, owners: Owners) -> tuple[TensorPlan, ...]:
    """Every entry of the state_dict that a tensor of the source fills, in the order of the modules."""
    plans: list[TensorPlan] = []
    for place in all_places(root.place):
        held = {**(place.layer.tensors if place.layer else {}), **place.loose, **place.made}
        for attr, value in held.items():
            key = f"{place.key}.{attr}" if place.key else attr
            owner, owner_attr = owners.keys[value]
            first = f"{owner.key}.{owner_attr}" if owner.key else owner_attr
            assert value.weight is not None
            shape = tuple(int(s) for s in value.shape if isinstance(s, int))
            dtype = "float32" if value.dtype in ("float16", "bfloat16") else value.dtype
            tied = None if (owner, owner_attr) == (place, attr) else first
            plans.append(TensorPlan(key=key, value=value, weight=value.weight, shape=shape, dtype=dtype, tied_to=tied))
    return tuple(plans)
