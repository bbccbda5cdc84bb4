"""Branches and loops as emitted statements: what they read like, that they compute what the graph computes."""

from __future__ import annotations

import pytest
import torch

from migrate.codegen import plan_package, to_module
from migrate.codegen.render import render_model
from migrate.graph import Graph, interpret
from migrate.graph.passes import run_passes
from migrate.graph.text import parse_graph
from tests.migrate.graph.test_control import BRANCH, LOOP, WHILE, fill

SWAP = """graph model
input %a: float32[batch=2|3|5]
input %b: float32[batch=2|3|5]
input %n: int64[]
weight $w: float32[1] parameter
%c: float32[batch] = mul(%a, $w)
%d: float32[batch] = relu(%b)
%x: float32[batch], %y: float32[batch], %z: float32[batch] = loop(%n, None, (%c, %d, %d), (), dims=(), out_dims=())
  block %index: int64[], %p: float32[batch], %q: float32[batch], %r: float32[batch]
    %s: float32[batch] = add(%p, %index)
    yield %q, %s, %r
%e: float32[batch] = add(%x, %y)
%f: float32[batch] = add(%e, %z)
%g: float32[batch] = add(%f, %c)
return %g
"""
INITIAL = """graph model
input %x: float32[batch=2|3|5, 4]
weight $w: float32[4] parameter
%y: float32[batch, 4] = mul(%x, $w)
%total: float32[] = sum(%y)
%go: bool[] = gt(%total, 0.0)
%z: float32[batch, 4], %all: float32[3, batch, 4] = loop(3, None, (%y,), (), dims=(), out_dims=(0,))
  block %index: int64[], %h: float32[batch, 4]
    %k: float32[batch, 4] = if_(%go)
      block
        %t: float32[batch, 4] = tanh(%h)
        yield %t
      block
        yield %x
    yield %k, %h
return %z, %all
"""


def text_of(graph: Graph) -> str:
    """The emitted model."""
    return "\n".join(render_model(plan_package(graph, name="m")).values())


def prepared(text: str) -> Graph:
    """The graph after the passes, its weights filled."""
    graph = fill(parse_graph(text))
    run_passes(graph)
    return graph


@pytest.mark.parametrize(
    "text", [BRANCH, LOOP, WHILE, SWAP, INITIAL], ids=["branch", "loop", "while", "swap", "nested"]
)
@pytest.mark.parametrize("sample", range(3))
def test_the_emitted_code_computes_what_the_graph_computes(text: str, sample: int) -> None:
    graph = prepared(text)
    torch.manual_seed(sample)
    inputs = [
        torch.randn([s if isinstance(s, int) else int(s.values[sample]) for s in value.shape])
        if value.is_float
        else torch.tensor(sample, dtype=getattr(torch, value.dtype))
        for value in graph.inputs
    ]
    made = to_module(graph)(*inputs)
    for got, want in zip(made if isinstance(made, tuple) else (made,), interpret(graph, *inputs), strict=True):
        torch.testing.assert_close(got, want)


def test_a_branch_without_work_needs_no_statement() -> None:
    text = text_of(prepared(BRANCH))
    assert "if mask:" in text and "else:" not in text


def test_a_loop_along_an_axis_unbinds_and_stacks() -> None:
    text = text_of(prepared(LOOP))
    assert "for step in x.unbind(1):" in text and "torch.stack(steps, dim=1)" in text


def test_a_loop_that_ends_by_the_data_breaks() -> None:
    text = text_of(prepared(WHILE))
    assert "for _ in range(int(count)):" in text and "if not running:" in text


def test_what_a_loop_does_not_change_is_not_returned_by_its_body() -> None:
    text = text_of(prepared(SWAP))
    assert "in torch.arange(int(n), device=" in text
    assert "-> tuple[Tensor, Tensor]:" in text
