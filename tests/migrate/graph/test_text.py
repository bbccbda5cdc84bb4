"""The text form prints and parses back to the same text."""

import pytest

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
