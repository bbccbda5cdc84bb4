"""The common graph: what every frontend builds and every later part reads."""

from migrate.graph.builder import Builder
from migrate.graph.infer import InferenceError
from migrate.graph.interpret import interpret
<<<<<<< HEAD
from migrate.graph.ir import Block, Graph, Node, Value
=======
from migrate.graph.ir import ByMode, Graph, Node, Value
>>>>>>> main
from migrate.graph.sizes import NUM_SAMPLES, Dim, Size, SizeError, SizeOf
from migrate.graph.weights import Step, Weight

__all__ = [
<<<<<<< HEAD
    "NUM_SAMPLES", "Block", "Builder", "Dim", "Graph", "InferenceError", "Node", "Size", "SizeError", "SizeOf", "Step",
    "Value", "Weight", "interpret",
=======
    "NUM_SAMPLES", "Builder", "ByMode", "Dim", "Graph", "InferenceError", "Node", "Size", "SizeError", "SizeOf", "Step", "Value",
    "Weight", "interpret",
>>>>>>> main
]  # fmt: skip
