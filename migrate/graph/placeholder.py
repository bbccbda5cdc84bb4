"""Files that hold a structure and no trained weights: most of what its matrices hold is one number, again and again."""

from __future__ import annotations

from migrate.graph.ir import Graph
from migrate.graph.weights import Array

MOST = 0.5


def has_placeholder_weights(graph: Graph) -> bool:
    """Whether most elements of the weight matrices lie in matrices that are filled with one number."""
    matrices = [v.weight for v in graph.weights() if v.weight and v.weight.role == "parameter" and v.rank > 1]
    sizes = [(array.size, _is_constant(array)) for array in (weight.array() for weight in matrices)]
    constant = sum(size for size, filled in sizes if filled)
    return constant > MOST * sum(size for size, _ in sizes)


def _is_constant(array: Array) -> bool:
    return array.size > 1 and array.flat[0] == array.flat[-1] and bool((array == array.flat[0]).all())
