"""Branches and loops: shapes, the text form, the reference execution, passes that walk into blocks."""

from __future__ import annotations

import pytest
import torch

from migrate.graph import Graph, InferenceError, interpret
from migrate.graph.check import GraphError, check
from migrate.graph.passes import run_passes
from migrate.graph.passes.remove_dead import remove_dead
from migrate.graph.text import parse_graph, print_graph

BRANCH = """graph model
input %x: float32[batch=2|3|5, 4]
input %flag: bool[]
weight $w: float32[4, 4] parameter
weight $b: float32[4] parameter
%y: float32[batch, 4] = if_(%flag) @block 'If_1'
  block
    %a: float32[batch, 4] = linear(%x, $w, None) @block.fc 'MatMul_1'
    %c: float32[batch, 4] = add(%a, $b) @block.fc 'Add_1'
    yield %c
  block
    yield %x
return %y
"""
LOOP = """graph model
input %x: float32[batch=2|3|5, length=7|12|19, 4]
input %state: float32[batch=2|3|5, 4]
weight $w: float32[4, 4] parameter
%last: float32[batch, 4], %all: float32[batch, length, 4] = loop(None, None, (%state,), (%x,), dims=(1,), out_dims=(1,))
  block %index: int64[], %h: float32[batch, 4], %part: float32[batch, 4]
    %m: float32[batch, 4] = linear(%h, $w, None)
    %s: float32[batch, 4] = add(%m, %part)
    %n: float32[batch, 4] = tanh(%s)
    yield %n, %n
return %last, %all
"""
WHILE = """graph model
input %x: float32[batch=2|3|5]
input %count: int64[]
%y: float32[batch] = loop(%count, True, (%x,), (), dims=(), out_dims=())
  block %index: int64[], %h: float32[batch]
    %d: float32[batch] = mul(%h, 2.0)
    %t: float32[] = sum(%d)
    %go: bool[] = lt(%t, 100.0)
    yield %go, %d
return %y
"""


def fill(graph: Graph) -> Graph:
    """The graph with numbers in its weights."""
    generator = torch.Generator().manual_seed(0)
    for value in graph.weights():
        assert value.weight is not None
        array = torch.randn(value.weight.source_shape, generator=generator).numpy()
        object.__setattr__(value.weight, "read", lambda a=array: a)
    return graph


@pytest.mark.parametrize("text", [BRANCH, LOOP, WHILE])
def test_the_text_form_parses_back(text: str) -> None:
    graph = parse_graph(text)
    check(graph)
    printed = print_graph(graph)
    assert print_graph(parse_graph(printed)) == printed
    assert printed.replace("%x.shape[0]", "batch").replace("%x.shape[1]", "length") == text


def test_a_branch_runs_the_block_that_the_condition_chooses() -> None:
    graph = fill(parse_graph(BRANCH))
    x = torch.randn(3, 4)
    weight, bias = (torch.from_numpy(v.weight.array()) for v in graph.weights() if v.weight)
    (taken,) = interpret(graph, x, torch.tensor(True))
    (other,) = interpret(graph, x, torch.tensor(False))
    torch.testing.assert_close(taken, torch.nn.functional.linear(x, weight, bias))
    assert other is x


def test_a_loop_along_an_axis_carries_and_stacks() -> None:
    graph = fill(parse_graph(LOOP))
    x, h = torch.randn(2, 7, 4), torch.randn(2, 4)
    last, every = interpret(graph, x, h)
    weight = torch.from_numpy(graph.weights()[0].weight.array())  # pyright: ignore[reportOptionalMemberAccess]
    for step in range(7):
        h = torch.tanh(h @ weight.T + x[:, step])
        torch.testing.assert_close(every[:, step], h)
    torch.testing.assert_close(last, h)


@pytest.mark.parametrize(("count", "factor"), [(2, 4.0), (0, 1.0), (50, 16.0)])
def test_a_loop_ends_by_its_count_or_its_condition(count: int, factor: float) -> None:
    (y,) = interpret(parse_graph(WHILE), torch.full((3,), 3.0), torch.tensor(count))
    assert y.tolist() == [3.0 * factor] * 3


def test_passes_walk_into_blocks() -> None:
    graph = parse_graph(BRANCH)
    assert run_passes(graph)["join_bias"] == 1
    node = graph.outputs[0].node
    assert node is not None
    assert [inner.op.name for inner in node.blocks[0].nodes] == ["linear"]
    assert {v.name: v.weight.role for v in graph.weights() if v.weight} == {"w": "parameter", "b": "parameter"}


def test_a_bias_is_not_joined_to_a_layer_outside_of_its_branch() -> None:
    text = BRANCH.replace("    %a: float32[batch, 4] = linear(%x, $w, None) @block.fc 'MatMul_1'\n", "")
    text = text.replace("%y: ", "%a: float32[batch, 4] = linear(%x, $w, None)\n%y: ", 1)
    graph = parse_graph(text)
    assert run_passes(graph)["join_bias"] == 0


def test_dead_nodes_of_blocks_go_and_captured_values_stay() -> None:
    text = BRANCH.replace("    yield %c", "    %dead: float32[batch, 4] = relu(%x)\n    yield %c")
    text = text.replace("%y: ", "%early: float32[batch, 4] = relu(%x)\n%y: ", 1).replace("linear(%x", "linear(%early")
    graph = parse_graph(text)
    assert remove_dead(graph) == 1
    assert [node.op.name for node in graph.nodes] == ["relu", "if_"]


def test_a_size_that_a_block_found_is_not_read_from_inside_it() -> None:
    text = BRANCH.replace("    yield %c", "    %k: float32[2 * batch, 4] = cat((%c, %x), 0)\n    yield %c")
    text = text.replace("return %y", "%z: float32[2 * batch, 4] = cat((%y, %x), 0)\nreturn %z")
    graph = parse_graph(text)
    assert graph.outputs[0].shape[0].expr.value is graph.outputs[0]  # pyright: ignore
    check(graph)


def test_branches_of_different_shapes_are_refused() -> None:
    text = BRANCH.replace("    yield %c", "    %k: float32[batch, 8] = cat((%c, %x), 1)\n    yield %k")
    with pytest.raises(InferenceError, match="the branches give"):
        parse_graph(text)


def test_a_loop_that_changes_a_shape_is_refused() -> None:
    text = WHILE.replace("yield %go, %d", "%k: float32[6] = cat((%d, %d), 0)\n    yield %go, %k")
    with pytest.raises(InferenceError, match="the shape must stay"):
        parse_graph(text)


def test_a_value_of_a_block_used_outside_is_a_fault() -> None:
    graph = parse_graph(BRANCH)
    node = graph.outputs[0].node
    assert node is not None
    graph.outputs = [node.blocks[0].nodes[0].output]
    with pytest.raises(GraphError, match="never computed"):
        check(graph)
