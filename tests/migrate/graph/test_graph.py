"""A graph from end to end: built, checked, walked, run, and told from one that holds no trained weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from migrate.graph import Builder, Dim, Graph, Value, Weight, interpret
from migrate.graph.check import GraphError, check
from migrate.graph.infer import InferenceError, run_samples, shape_of
from migrate.graph.interpret import content_of
from migrate.graph.ir import map_arg, replace_value, sizes_in, tensors_in, values_in
from migrate.graph.placeholder import has_placeholder_weights
from migrate.graph.text import parse_graph

TEXT = """
graph m
input %x: float32[batch=11|7|9, 4]
weight $w: float32[3, 4] parameter
%y: float32[batch, 3] = linear(%x, $w, None)
%z: float32[batch * 3] = reshape(%y, (%x.shape[0] * 3,))
return %z
"""


def built(content: Any) -> Graph:
    """x times a matrix with this content."""
    array = np.asarray(content, dtype="float32")
    b = Builder("m")
    x = b.input("x", "float32", [("batch", (11, 7, 9)), array.shape[0]])
    weight = Weight(source="w", read=lambda: array, source_shape=array.shape, role="parameter")
    b.graph.outputs = [b.matmul(x, b.weight("w", "float32", weight, array.shape))]
    return b.graph


def test_a_graph_computes_what_its_callables_do() -> None:
    matrix = np.arange(12.0).reshape(4, 3)
    graph, x = built(matrix), torch.randn(2, 4)
    check(graph)
    torch.testing.assert_close(interpret(graph, x)[0], x @ torch.from_numpy(matrix).float())


def test_sizes_follow_the_inputs_when_it_runs() -> None:
    graph = parse_graph(TEXT)
    assert [interpret(graph, torch.ones(n, 4))[0].shape for n in (1, 5)] == [(3,), (15,)]


def test_the_walks_tell_tensors_from_sizes() -> None:
    linear, reshape = parse_graph(TEXT).nodes
    (x, w), (y,) = tensors_in(linear.args), tensors_in(reshape.args)
    assert (x.name, w.name, y.name) == ("x", "w", "y")
    (size,) = sizes_in(reshape.args)
    assert isinstance(size, Dim) and size.values == (33, 21, 27)
    assert list(values_in(reshape.args)) == [y, x]


def test_replacing_a_value_leaves_sizes_alone() -> None:
    graph = parse_graph(TEXT)
    other = Value("other", "float32", graph.nodes[0].output.shape)
    replace_value(graph.nodes, graph.nodes[0].output, other)
    assert graph.nodes[1].args[0] is other
    assert [v.name for v in values_in(graph.nodes[1].args)] == ["other", "x"]


def test_leaves_are_changed_wherever_they_stand() -> None:
    assert map_arg((1, [2], {"k": 3}, slice(4, None)), lambda a: a and -a) == (
        -1,
        (-2,),
        {"k": -3},
        slice(-4, None, None),
    )


@pytest.mark.parametrize("broken", ["twice", "disowned", "named", "never"])
def test_the_verifier_finds(broken: str) -> None:
    graph = parse_graph(TEXT)
    first, second = graph.nodes
    if broken == "twice":
        graph.nodes.append(second)
    elif broken == "disowned":
        first.output.node = second
    elif broken == "named":
        second.output.name = "y"
    else:
        graph.outputs.append(Value("lost", "float32", ()))
    with pytest.raises(GraphError):
        check(graph)


def test_inference_says_what_the_callable_said() -> None:
    x = parse_graph(TEXT).inputs[0]
    ((tensor,), *_) = results = run_samples(torch.relu, (x,), {}, makes_tensor=False)
    assert tensor.is_meta and shape_of([group[0] for group in results]) == [(11, 7, 9), 4]
    with pytest.raises(InferenceError, match="reduction dim"):
        run_samples(torch.mm, (x, x), {}, makes_tensor=False)


def test_a_content_is_known_where_weights_alone_make_it() -> None:
    graph = parse_graph(
        "graph m\ninput %x: float32[2]\nweight $w: float32[2] parameter\n%a = exp($w)\n%b = add(%a, %x)\nreturn %b"
    )
    first, second = graph.nodes
    assert content_of(first.output).tolist() == [1.0, 1.0]
    assert content_of(second.output) is None and content_of(graph.inputs[0]) is None


@pytest.mark.parametrize(("content", "holds"), [(np.full((4, 3), 0.5), True), (np.arange(12.0).reshape(4, 3), False)])
def test_matrices_of_one_number_are_no_trained_weights(content: Any, holds: bool) -> None:
    assert has_placeholder_weights(built(content)) is holds
