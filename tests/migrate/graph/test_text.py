"""The text form prints and parses back to the same text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrate.graph.builder import Builder
from migrate.graph.check import GraphError, check
from migrate.graph.text import parse_graph, print_graph

TEXT = """
graph model
input %x: float32[batch=2|3|5, 3, 8, 8]
weight $w: float32[4, 3, 3, 3] parameter
weight $<odd/name>: float32[4] buffer
%c: float32[%x.shape[0], 4, 8, 8] = conv2d(%x, $w, None, stride=(1, 1), padding=(1, 1)) @layer1.0 '/layer1/0/Conv'
%b: float32[%x.shape[0], 4, 8, 8] = add(%c, 0.5)
%f: float32[%x.shape[0], 256] = flatten(%b, 1)
%r: float32[%x.shape[0], 4, 64] = reshape(%f, (%x.shape[0], 4, -1))
%s: float32[%x.shape[0], 1, 64], %t: float32[%x.shape[0], 3, 64] = split(%r, (1, 3), dim=1)
%p: float32[%x.shape[0], 4, 64, 1] = unsqueeze(%r, -1) @tail 'a', "b'c"
%q: float32[%x.shape[0] * 2, 2, 64] = reshape(%r, (%x.shape[0] * 2, 2, 64))
%g: float32[%x.shape[0], 4, 8, 8] = batch_norm(%c, $<odd/name>, $<odd/name>, None, None, training=False, eps=1e-05)
return %s, %t, %p, %q, %g
"""


def test_round_trip() -> None:
    graph = parse_graph(TEXT)
    check(graph)
    once = print_graph(graph)
    assert print_graph(parse_graph(once)) == once
    wanted = TEXT.strip().replace("%x.shape[0] * 2, 2, 64]", "%q.shape[0], 2, 64]")
    assert once.strip() == wanted


@pytest.mark.parametrize(
    "name", ["a>b", "x:0", "a = b", "f(x", "50 %x", "two\nlines", "\u00e9", "back\\slash", '"', ""]
)
def test_a_name_of_any_characters_is_read_back(name: str) -> None:
    _reads_back(name)


@given(st.text(min_size=1))
def test_every_name_is_read_back(name: str) -> None:
    _reads_back(name)


def _reads_back(name: str) -> None:
    """A graph whose input, free size, scope and result have a source's name."""
    builder = Builder()
    value = builder.input(name, "float32", [(name, (2, 3, 5))])
    with builder.at((name, "tail"), name):
        builder.graph.outputs = [builder.relu(value)]
    builder.rename(builder.graph.outputs[0], name)
    graph = parse_graph(print_graph(builder.graph))
    assert [v.name for v in graph.inputs] == [v.name for v in builder.graph.inputs]
    assert [v.name for v in graph.outputs] == [v.name for v in builder.graph.outputs]
    assert graph.nodes[0].scope == (name, "tail")
    assert print_graph(graph) == print_graph(builder.graph)


@pytest.mark.parametrize(
    "line", ["%y = frobnicate(%x)", "%y = relu(%nothing)", "%y = relu(%x", "%y = relu(__import__('os'))", "nonsense"]
)
def test_a_line_that_cannot_be_read_is_shown(line: str) -> None:
    with pytest.raises(ValueError, match="cannot read the line"):
        parse_graph(f"graph m\ninput %x: float32[2]\n{line}\n")


def test_the_verifier_names_a_value_that_is_used_before_it_is_made() -> None:
    graph = parse_graph("graph m\ninput %x: float32[2]\n%y = relu(%x)\n%z = relu(%y)\nreturn %z")
    graph.nodes.reverse()
    with pytest.raises(GraphError, match="uses %y"):
        check(graph)
