"""Tensors that are one parameter in the model although the source stores or rearranges them twice.

1. the same source tensor in the same layout, made twice -> one value;
2. an embedding and a linear layer whose weights are equal element by element -> one value (an inferred tie, reported).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from migrate.errors import Diagnostic
from migrate.graph.ir import Graph, Value, replace_value, replace_values
from migrate.graph.passes import Pass


def tie_weights(graph: Graph) -> int:
    """Merge them and return how many values went."""
    return _merge_same_source(graph) + _merge_embeddings(graph)


def _merge_same_source(graph: Graph) -> int:
    first: dict[Any, Value] = {}
    stands: dict[Value, Value] = {}
    for value in graph.weights():
        weight = value.weight
        assert weight is not None
        if not weight.source or weight.role != "parameter":
            continue
        kept = first.setdefault((weight.source, weight.steps, weight.copy), value)
        if kept is not value:
            stands[value] = kept
    replace_values(graph.nodes, stands)
    return len(stands)


def _merge_embeddings(graph: Graph) -> int:
    tables = _weights_of(graph, "embedding")
    heads = _weights_of(graph, "linear")
    count = 0
    for table in tables:
        for head in heads:
            if head is table or head.shape != table.shape or not _equal(head, table):
                continue
            replace_value(graph.nodes, head, table)
            graph.notes.append(_note(table, head))
            count += 1
    return count


def _weights_of(graph: Graph, op: str) -> list[Value]:
    found = (n.args[1] for n in graph.all_nodes if n.op.name == op and isinstance(n.args[1], Value))
    values = dict.fromkeys(found)
    return [v for v in values if v.weight is not None and not v.weight.homes and v.rank == 2]


def _equal(left: Value, right: Value) -> bool:
    assert left.weight is not None and right.weight is not None
    a, b = left.weight.array(), right.weight.array()
    return bool(np.array_equal(a[0], b[0]) and np.array_equal(a, b) and (a != a.flat[0]).any())


def _note(table: Value, head: Value) -> Diagnostic:
    return Diagnostic(
        code="MIG312",
        severity="note",
        what=f"{head.name!r} equals the embedding {table.name!r} element by element and is tied to it",
        why="exporters write a tied weight twice, once transposed",
    )


TIE_WEIGHTS = Pass(name="tie_weights", run=tie_weights, requires=("roles",), ensures=("ties",))
