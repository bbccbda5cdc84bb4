"""The lines of a class: constructors of lists and tensors, annotations, first values. Knows no comparison of classes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from migrate.codegen.holes import hole
from migrate.codegen.layers import Arg
from migrate.codegen.names import is_attribute
from migrate.codegen.plan import Member
from migrate.codegen.tree import Place
from migrate.graph.ir import Value

MIN_SAVED = 60  # characters
CHANNELS = frozenset({
    "in_channels", "out_channels", "num_features", "in_features", "out_features", "normalized_shape", "num_channels",
    "embedding_dim", "input_size", "hidden_size", "num_parameters", "channels", "groups", "split_size",
})  # fmt: skip


def fill(text: str, texts: Sequence[str]) -> str:
    """A text with its open numbers put in."""
    for index, value in enumerate(texts):
        text = text.replace(hole(index), value)
    return text


def top_commas(text: str) -> int:
    """How many expressions a returned text has."""
    depth = commas = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        commas += char == "," and depth == 0
    return commas + 1


def list_text(place: Place, members: list[tuple[str, str]]) -> str:
    """A list of modules; more than two equal ones are written once."""
    container = "nn.Sequential" if place.is_chain else "nn.ModuleList"
    texts = dict(members)
    equal = len(members) > 2 and len(set(texts.values())) == 1
    if equal and list(texts) == [str(k) for k in range(len(texts))]:
        members_text = f"{members[0][1]} for _ in range({len(members)})"
        return f"nn.Sequential(*({members_text}))" if place.is_chain else f"nn.ModuleList({members_text})"
    last = max(int(attr) for attr in texts)
    inner = ", ".join(_runs([texts.get(str(k), "nn.Identity()") for k in range(last + 1)]))
    return f"{container}({inner})" if place.is_chain else f"{container}([{inner}])"


def _runs(texts: list[str]) -> list[str]:
    """The items of a list; more than two equal ones in a row are written once, unless they are as short as that."""
    found: list[str] = []
    for text, run in groupby(texts):
        count = len(list(run))
        once = count > 2 and len(text) * (count - 1) > MIN_SAVED
        found += [f"*({text} for _ in range({count}))"] if once else [text] * count
    return found


def dict_text(place: Place, members: list[tuple[str, str]]) -> str:
    """Modules by name."""
    del place
    inner = ", ".join(f'"{attr}": {text}' for attr, text in members)
    return f"nn.ModuleDict({{{inner}}})"


def kind_of(value: Value) -> tuple[Any, ...]:
    """What of a tensor that a module holds cannot be an argument of its class."""
    return is_parameter(value), value.dtype, value.rank, value.weight is None or value.weight.persistent


def held_in_lists(place: Place) -> list[tuple[Place, str, Value]]:
    """The tensors that a list holds itself, and the lists in it."""
    if not place.is_container:
        return []
    own = [(place, attr, value) for attr, value in place.loose.items()]
    return own + [held for child in place.children.values() for held in held_in_lists(child)]


def origin_of(place: Place) -> str:
    """The source's class and its place, where the source tells; else one of the source's nodes that a module computes."""
    told = place.origin or (place.parent.origin if place.parent else "")  # a branch is written where its module is
    if told:
        return told
    if place.nodes:
        return next((name for node in place.nodes for name in node.origin), "")
    return next((found for child in place.children.values() if (found := origin_of(child))), "")


def same_meaning(left: Arg, right: Arg) -> bool:
    """Whether two arguments say the same of a layer, whatever each calls it."""

    def base(name: str) -> str:
        return "channels" if any(name == c or name.endswith(f"_{c}") for c in CHANNELS) else name

    if left.config or right.config:
        return left.config == right.config
    return base(left.name) == base(right.name)


def annotation(values: list[Any]) -> str:
    """The type of an argument that takes these values."""
    kinds = dict.fromkeys(_kind(v) for v in values)
    return " | ".join(kinds)


def _kind(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, tuple):
        items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        return f"tuple[{', '.join(_kind(item) for item in items)}]" if items else "tuple[()]"
    if isinstance(value, str) and value.startswith("torch."):
        return "torch.dtype"
    return type(value).__name__


def is_parameter(value: Value) -> bool:
    """Whether the tensor is trained."""
    return value.weight is not None and value.weight.role == "parameter"


def member(attr: str, text: str) -> Member:
    """A module that another holds; a name that is no attribute's is kept all the same."""
    return (
        Member(attr=attr, text=text)
        if is_attribute(attr)
        else Member(attr="", text=f'self.add_module("{attr}", {text})')
    )


def loose_member(attr: str, value: Value, sizes: list[str]) -> Member:
    """A tensor that the module holds itself, of the right shape and not yet filled."""
    shape = ", ".join(sizes) if len(sizes) != 0 else "()"
    shape = f"({sizes[0]},)" if len(sizes) == 1 and not sizes[0].isdigit() else shape
    dtype = "" if value.dtype in ("float32", "float16", "bfloat16") else f", dtype=torch.{value.dtype}"
    if is_parameter(value):
        return Member(attr=attr, text=f"nn.Parameter(torch.empty({shape}{dtype}))")
    hidden = "" if value.weight is None or value.weight.persistent else ", persistent=False"
    return Member(attr="", text=f'self.register_buffer("{attr}", torch.zeros({shape}{dtype}){hidden})')


def held_by_list(reference: str, attr: str, value: Value, sizes: list[str]) -> Member:
    """The same for a tensor that a list of modules holds, whose class is not ours to write."""
    made = loose_member(attr, value, sizes)
    if not made.attr:
        return Member(attr="", text=made.text.replace("self.", f"{reference}.", 1))
    return Member(attr="", text=f'{reference}.register_parameter("{attr}", {made.text})')


def reset(attr: str, value: Value) -> str:
    """How a parameter of the module itself is drawn afresh."""
    if value.rank == 0 or "scale" in attr or "gamma" in attr:
        return f"nn.init.ones_(self.{attr})"
    if value.rank < 2 or all(s == 1 for s in value.shape[:-1]) or "bias" in attr:
        return f"nn.init.zeros_(self.{attr})"
    return f"nn.init.trunc_normal_(self.{attr}, std=0.02)"
