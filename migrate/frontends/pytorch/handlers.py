"""Which handler reads a node, and which nodes nothing reads. Knows the registry, not the operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from migrate.errors import Diagnostic, error
from migrate.frontends.pytorch.nodes import is_higher_order, short_name
from migrate.frontends.pytorch.places import line_of
from migrate.frontends.pytorch.program import Program
from migrate.frontends.pytorch.registry import find, find_higher_order

SKIPPED = ("_assert", "sym_constrain_range", "_set_grad_enabled", "_check")
INLINED = ("wrap_with_set_grad_enabled", "wrap_with_autocast")


def handler_of(node: Any) -> Any:
    """The handler of a node's operator; one that works in place is read as the one that does not."""
    if is_higher_order(node):
        return find_higher_order(str(node.target))
    packet = str(node.target.overloadpacket)
    overload = node.target._overloadname or "default"
    found = find(packet, overload)
    base = packet.rstrip("_")
    if found is None and packet.endswith("_") and not packet.endswith("__"):
        try:
            found = find(base, overload)
        except AttributeError:  # there is no such overload out of place: the arguments are alike all the same
            found = find(base, "default")
    if found is None and packet.endswith("_copy"):  # as views are written once a program has been made functional
        found = find(packet.removesuffix("_copy"), overload)
    return found


def _all_nodes(module: Any) -> Iterator[Any]:
    """The nodes of an exported graph and of the graphs that its operators take."""
    for node in module.graph.nodes:
        if node.op == "get_attr" and hasattr(inner := getattr(module, str(node.target)), "graph"):
            yield from _all_nodes(inner)
        yield node


def unsupported(program: Program) -> list[Diagnostic]:
    """Every operator that nothing reads, with its first place and how often it occurs."""
    places: dict[str, list[Any]] = {}
    evaluation = list(_all_nodes(program.evaluation.graph_module))
    known = {str(node.target) for node in evaluation}
    training = [] if program.training is None else _all_nodes(program.training.graph_module)
    for node in (*evaluation, *(node for node in training if str(node.target) not in known)):
        if node.op != "call_function" or short_name(node).startswith((*SKIPPED, "sym_")):
            continue
        if not hasattr(node.target, "_schema"):
            if is_higher_order(node) and short_name(node) not in INLINED and handler_of(node) is None:
                places.setdefault(str(node.target), []).append(node)
            continue
        if handler_of(node) is None:
            places.setdefault(str(node.target), []).append(node)
    return [
        error("MIG201", f"operator {name} is not supported", where=line_of(nodes[0]), why=f"{len(nodes)} of it")
        for name, nodes in places.items()
    ]
