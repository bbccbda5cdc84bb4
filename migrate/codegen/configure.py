"""What may be changed about a model: rates, the classes that it tells apart, and how many layers it has.

Marks the numbers that are a field of `ModelConfig`; knows no text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import gcd, lcm

from migrate.codegen.layers import Layer
from migrate.codegen.naming import Owners, all_places
from migrate.codegen.outputs import Output
from migrate.codegen.plan import ConfigField
from migrate.codegen.scopes import Scopes
from migrate.codegen.tree import Place
from migrate.codegen.widths import Widths, axis_of


def configure(scopes: Scopes, outputs: list[Output]) -> tuple[ConfigField, ...]:
    """Mark the numbers that a user may change, and give their defaults."""
    rates = {a.value for layer in scopes.layer.values() for a in layer.args if a.config == "dropout"}
    fields: list[ConfigField] = []
    if len(rates) > 1:
        for arg in ("p", "dropout"):  # of a dropout, and of an attention
            _mark(scopes, lambda layer: any(a.config == "dropout" for a in layer.args), arg, "")
    elif rates:
        origin = "the dropout rate of the source"
        fields.append(ConfigField(name="dropout", annotation="float", default=repr(float(rates.pop())), origin=origin))
    last = _last_linear(scopes, outputs)
    if last is not None:
        node = outputs[0].raw.node
        assert node is not None
        scopes.layer[node] = last = replace(last, role="head")
        _mark(scopes, lambda layer: layer is last, "out_features", "num_classes")
        origin = "the rows of the last linear layer"
        classes = next(a.value for a in last.args if a.name == "out_features")
        fields.append(ConfigField(name="num_classes", annotation="int", default=repr(classes), origin=origin))
    return tuple(fields)


def mark_widths(scopes: Scopes, widths: Widths) -> ConfigField:
    """Mark the arguments of layers that grow with the model's width; returns its field."""
    for node, layer in list(scopes.layer.items()):
        said = [(arg, None if arg.config else axis_of(arg, layer)) for arg in layer.args]
        args = tuple(widths.share(arg) if axis is not None and widths.is_width(*axis) else arg for arg, axis in said)
        scopes.layer[node] = replace(layer, args=args)
    parts = {
        widths.base // gcd(size, widths.base) for value, k in widths.axes if isinstance(size := value.shape[k], int)
    }
    heads = {a.value for layer in scopes.layer.values() for a in layer.args if a.name == "num_heads"}
    step = lcm(*parts, *heads)
    origin = "what all channels are multiples or parts of" + (f"; a multiple of {step}" if step > 1 else "")
    return ConfigField(name=widths.name, annotation="int", default=repr(widths.base), origin=origin)


def _mark(scopes: Scopes, wanted: Callable[[Layer], bool], arg: str, config: str) -> None:
    for node, layer in list(scopes.layer.items()):
        if wanted(layer):
            args = tuple(replace(a, config=config) if a.name == arg else a for a in layer.args)
            scopes.layer[node] = replace(layer, args=args)


def _last_linear(scopes: Scopes, outputs: list[Output]) -> Layer | None:
    """The linear layer whose result is the only output, where nothing else uses its weight."""
    node = outputs[0].raw.node if len(outputs) == 1 else None
    if node is None or node not in scopes.layer or scopes.layer[node].constructor != "nn.Linear":
        return None
    layer = scopes.layer[node]
    weight = layer.tensors["weight"]
    shared = [n for n in scopes.of if n is not node and any(v is weight for v in scopes.reads(n))]
    shared += [n for n, other in scopes.layer.items() if n is not node and weight in other.tensors.values()]
    return None if shared else layer


def repeated_list(root: Place, owners: Owners) -> Place | None:
    """The longest chain of modules of which there may be any number: none is named elsewhere, none holds constants."""
    named = [place for place, _, _ in owners.ties] + [place for place, _ in (owners.keys[v] for _, _, v in owners.ties)]

    def is_free(place: Place) -> bool:
        inner = [one for one in all_places(place) if one is not place]
        held = [value for one in inner for value in one.loose.values() if value.weight is not None]
        constant = any(v.weight is not None and v.weight.role == "buffer" and not v.weight.kind for v in held)
        apart = not any(one.is_within(place) for one in named)
        return place.is_chain and not place.loose and len(place.children) > 2 and apart and not constant

    chains = [place for place in all_places(root) if is_free(place) and all(c.block for c in place.children.values())]
    longest = max(chains, key=lambda place: len(place.children), default=None)
    alone = longest is not None and sum(len(c.children) == len(longest.children) for c in chains) == 1
    return longest if alone else None


def num_layers(place: Place) -> ConfigField:
    """The field that says how many members the list has."""
    origin = f"the members of {place.key}"
    return ConfigField(name="num_layers", annotation="int", default=str(len(place.children)), origin=origin)
