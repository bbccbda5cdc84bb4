"""Finds the first layer, in the order of execution, whose output differs from the source's value. Starts no process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from migrate.graph import Graph, Node, Value
from migrate.verify.contract import Array, Oracle, Plan, Target
from migrate.verify.facts import Layer

if TYPE_CHECKING:
    from torch import Tensor

    from runtime.verify.golden import GoldenCase

WHOLE = "(model)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A recorded output of a module and the source's value that it stands for."""

    record: str
    module: str
    source: str
    node: Node


def last_of_origin(graph: Graph) -> dict[str, Node]:
    """For each node of the source the last node of the graph that came from it: the one that makes its outputs."""
    return {origin: node for node in graph.nodes for origin in node.origin}


def source_value(value: Value, last: Mapping[str, Node], oracle: Oracle) -> str | None:
    """The source's name for a value of the graph, None where the source has no such value."""
    node = value.node
    if node is None or not node.origin or last.get(node.origin[-1]) is not node:
        return None
    names = oracle.outputs_of().get(node.origin[-1], ())
    index = node.outputs.index(value)
    return names[index] if index < len(names) and names[index] else None


def links(plan: Plan, graph: Graph, oracle: Oracle) -> Iterator[Link]:
    """What can be compared. A module that is called more than once has one record for each call."""
    values = {value.name: value for node in graph.nodes for value in node.outputs}
    last = last_of_origin(graph)
    calls: dict[tuple[str, Node], int] = {}
    counts: dict[str, int] = {}
    for name, module in plan.outputs_of.items():
        value = values.get(name)
        if value is None or value.node is None:
            continue
        key = (module, value.node)
        if key not in calls:
            calls[key] = counts.get(module, 0)
            counts[module] = calls[key] + 1
        source = source_value(value, last, oracle)
        if source is None:
            continue
        index = "" if len(value.node.outputs) == 1 else f".{value.node.outputs.index(value)}"
        yield Link(record=f"{module}#{calls[key]}{index}", module=module, source=source, node=value.node)


def first_difference(
    trace: Mapping[str, Tensor],
    case: GoldenCase,
    plan: Plan,
    graph: Graph,
    oracle: Oracle,
    overrides: Mapping[Target, Array],
) -> Layer:
    """The first module whose output differs; where all agree, the code between the last of them and the outputs."""
    import torch

    from runtime.verify.forward import relative_error, tolerance

    comparable = {link.record: link for link in links(plan, graph, oracle) if link.record in trace}
    names = [link.source for link in comparable.values()]
    arrays = [t.numpy() for t in case.inputs]
    expected = oracle.intermediates(arrays, names, overrides) if names else {}
    agreed: Link | None = None
    for record, actual in trace.items():
        link = comparable.get(record)
        if link is None:
            continue
        wanted = torch.from_numpy(np.ascontiguousarray(expected[link.source]))
        if wanted.shape != actual.shape and wanted.numel() == actual.numel():
            continue
        error = relative_error(wanted, actual)
        if not error <= tolerance(wanted, actual):
            return Layer(module=link.module, nodes=link.node.origin, error=error)
        agreed = link
    return _after(agreed, graph)


def _after(agreed: Link | None, graph: Graph) -> Layer:
    """The nodes behind the last module that agrees."""
    start = graph.nodes.index(agreed.node) + 1 if agreed is not None else 0
    nodes = tuple(dict.fromkeys(place for node in graph.nodes[start:] for place in node.origin))
    what = f"code after {agreed.module}" if agreed is not None else "code of the model"
    return Layer(module=WHOLE, nodes=nodes[:5], what=what)


def module_of(parameter: str, plan: Plan) -> Layer:
    """The module that owns a parameter, with the source's nodes."""
    owner = parameter.rpartition(".")[0]
    while owner and owner not in plan.modules:
        owner = owner.rpartition(".")[0]
    return Layer(module=parameter.rpartition(".")[0] or WHOLE, nodes=tuple(plan.modules.get(owner, ())))
