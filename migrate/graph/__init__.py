"""The common graph: what every frontend builds and every later part reads."""

from migrate.graph.builder import Builder
from migrate.graph.infer import InferenceError
from migrate.graph.interpret import interpret
from migrate.graph.ir import ByMode, Graph, Node, Value
from migrate.graph.sizes import NUM_SAMPLES, Dim, Size, SizeError, SizeOf
from migrate.graph.weights import Step, Weight

__all__ = [
    "NUM_SAMPLES", "Builder", "ByMode", "Dim", "Graph", "InferenceError", "Node", "Size", "SizeError", "SizeOf", "Step",
    "Value", "Weight", "interpret",
]  # fmt: skip
