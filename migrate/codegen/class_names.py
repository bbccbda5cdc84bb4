"""What a class is called: by its place in the source's module tree, or by its layers where the place says nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

from migrate.codegen.names import class_name
from migrate.codegen.tree import Block, FunctionCall, Item, LayerCall, Place

_ACTIVATIONS = {
    "relu": "ReLU", "silu": "SiLU", "gelu": "GELU", "hardswish": "Hardswish", "sigmoid": "Sigmoid", "tanh": "Tanh",
    "leaky_relu": "LeakyReLU", "elu": "ELU", "relu6": "ReLU6", "mish": "Mish", "hardsigmoid": "Hardsigmoid",
}  # fmt: skip
_LAYERS = {"conv": "Conv", "norm": "Norm", "linear": "Linear", "up": "Up", "embed": "Embed", "act": "Act"}


def wanted_name(places: list[Place]) -> str:
    """The name to ask for, for a class with these instances."""
    own = {place.cls for place in places if place.cls and not place.cls.startswith("torch.nn.modules.container.")}
    if len(own) == 1:
        return class_name(own.pop().rpartition(".")[2], "Block")
    block = places[0].block
    names = [_by_place(place) for place in places]
    said = (
        len(set(names)) == 1
        and not any(p.segment.isdigit() or "\0" in p.segment for p in places)
        and names[0] != "Block"
    )
    small = _by_layers(block) if block and not said else ""
    if small:
        return small
    common = max(sorted(set(names)), key=names.count)
    return class_name(common, "Block")


def _by_layers(block: Block) -> str:
    """`ConvNormReLU` for a block that is just that."""
    if len(block.items) > 6:
        return ""
    parts = [_part(item) for item in block.items]
    if len(parts) < 2 or not all(parts) or parts[0] not in ("Conv", "Linear", "Up"):
        return ""
    if parts[-2:] == ["Sigmoid", "Scale"]:
        parts[-2:] = ["SiLU"]
    return "".join(dict.fromkeys(parts))


def _part(item: Item) -> str:
    """What an item adds to the name; empty where it is more than a layer, a scale or an activation."""
    if isinstance(item, LayerCall):
        return _LAYERS.get(item.layer.role, "")
    if not isinstance(item, FunctionCall):
        return ""
    name = item.node.op.name
    return _ACTIVATIONS.get(name, "Scale" if name in ("mul", "add") else "")


def _by_place(place: Place) -> str:
    """`blocks.3` is a `Block`, `layer1.0` a `Layer`, `self_attn` a `SelfAttn`."""
    segment = place.segment.partition("\0")[0]
    if segment.isdigit() and place.parent is not None:
        segment = place.parent.segment.partition("\0")[0]
        while segment.isdigit() and place.parent and place.parent.parent:
            place = place.parent
            segment = place.segment
        segment = re.sub(r"(?<=[a-z]{2})s$", "", segment.rstrip("0123456789_"))
    segment = segment.rstrip("0123456789_")
    return segment if len(segment) > 2 and segment != "model" else "Block"


def doc_of(places: list[Place], name_of: Callable[[Place], str]) -> str:
    """What a class with these instances is made of, and how often; `name_of` gives the class of a module."""
    parts = [part for child in places[0].children.values() for part in _doc_parts(child, name_of)]
    names = list(dict.fromkeys(parts))
    names = names if len(names) < 5 else [*names[:3], f"{len(names) - 3} more"]
    what = " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
    times = f"; used {len(places)} times" if len(places) > 1 else ""
    return f"{what or 'Computes without parameters'}{times}."


def _doc_parts(place: Place, name_of: Callable[[Place], str]) -> list[str]:
    if place.layer is not None:
        return [place.layer.constructor.removeprefix("nn.")]
    if place.is_container:
        return [part for child in place.children.values() for part in _doc_parts(child, name_of)]
    return [name_of(place)]
