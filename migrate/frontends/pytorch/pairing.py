"""Which nodes of a model's two forms, and which of their outputs, are the same. Knows no arguments."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from migrate.frontends.pytorch.nodes import counts_batches, inner_graphs, is_same, is_size, origin_of
from migrate.frontends.pytorch.places import module_of
from migrate.frontends.pytorch.structure import output_paths


def steps(graph: Any) -> list[Any]:
    """The calls of a graph that compute something."""
    skipped = (is_size, counts_batches, is_same)
    return [n for n in graph.nodes if n.op == "call_function" and not any(test(n) for test in skipped)]


def _token(node: Any) -> tuple[str, ...]:
    return str(node.target), module_of(node), *(g.code for g in inner_graphs(node))


def paired(ours: list[Any], theirs: list[Any]) -> Iterator[tuple[Any, Any]]:
    """The calls that both forms have, in order."""
    left, right = [_token(n) for n in ours], [_token(n) for n in theirs]
    if left == right:
        yield from zip(ours, theirs, strict=True)
        return
    for a, b, size in difflib.SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
        yield from zip(ours[a : a + size], theirs[b : b + size], strict=True)


def outputs_among(evaluation: Any, training: Any, pair: Mapping[Any, Any]) -> list[int]:
    """For each of evaluation's outputs the place of training's: the one of the same node, of the same name, or in order."""
    import torch.fx

    ours, theirs = outputs_of(evaluation), outputs_of(training)
    names = [output_paths(program) for program in (evaluation, training)]
    origins = [pair.get(origin_of(t)) if isinstance(t, torch.fx.Node) else t for t in theirs]
    found: list[int] = []
    for place, (leaf, name) in enumerate(zip(ours, names[0], strict=True)):
        same = [k for k, t in enumerate(origins) if isinstance(leaf, torch.fx.Node) and t is origin_of(leaf)]
        named = [k for k, other in enumerate(names[1]) if other == name and name]
        found.append((*same, *named, place)[0])
    return found


def outputs_of(exported: Any) -> list[Any]:
    """What a program returns, flat."""
    (output,) = (node for node in exported.graph.nodes if node.op == "output")
    return list(output.args[0])
