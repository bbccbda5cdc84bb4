"""Files that hold a structure and no trained weights: every weight matrix is filled with one number."""

from __future__ import annotations

from migrate.graph.ir import Graph
from migrate.graph.weights import Array


def has_placeholder_weights(graph: Graph) -> bool:
    """Whether all weight matrices are constant; the first that is not ends the search."""
    matrices = [v.weight for v in graph.weights() if v.weight and v.weight.role == "parameter" and v.rank > 1]
    return bool(matrices) and all(_is_constant(weight.array()) for weight in matrices)


def _is_constant(array: Array) -> bool:
    return array.size > 1 and bool((array == array.flat[0]).all())
