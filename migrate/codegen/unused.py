"""Modules that nothing calls, such as heads of training alone: where the source tells how, torch's own class makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from migrate.codegen.class_texts import CHANNELS
from migrate.codegen.layers import Arg, Layer, of_dtype
from migrate.codegen.tree import Path, Place
from migrate.graph.ir import Value

Arguments = Mapping[Path, Mapping[str, Any]]


def make_unused(place: Place, arguments: Arguments, path: Path = ()) -> None:
    """Let layers make the tensors that modules at and below `place` hold and nothing computes with."""
    held = _held(place)
    if held and path in arguments:
        place.layer = _layer(place, arguments[path], held)
        place.loose, place.children = {}, {}
        return
    for segment, child in place.children.items():
        make_unused(child, arguments, (*path, segment))


def _held(place: Place, name: str = "") -> dict[str, Value] | None:
    """The tensors of a module and its members, by name; None where one of them is called."""
    if place.layer is not None or place.block is not None or place.nodes:
        return None
    found = {f"{name}{attr}": value for attr, value in place.loose.items()}
    for segment, child in place.children.items():
        inner = _held(child, f"{name}{segment}.")
        if inner is None:
            return None
        found |= inner
    return found


def _layer(place: Place, arguments: Mapping[str, Any], held: dict[str, Value]) -> Layer:
    args: list[Arg] = []
    for name, value in arguments.items():
        first = name in CHANNELS and all(a.positional for a in args)
        args.append(Arg(name, value, positional=first))
    dtype = next((of_dtype(value) for value in held.values() if value.is_float), ())
    name = place.cls.rpartition(".")[2]
    return Layer(constructor=f"nn.{name}", args=(*args, *dtype), inputs=(), role=place.segment, tensors=held)
