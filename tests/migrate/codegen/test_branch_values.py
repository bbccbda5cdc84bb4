"""Values of integer inputs that lead into every branch."""

from __future__ import annotations

import pytest

from migrate.codegen.branch_values import branch_values
from migrate.graph.text import parse_graph

TEXT = """graph model
input %x: float32[batch=2|3|5]
input %mode: int64[1]
%m: int64[] = squeeze(%mode, 0)
%c: bool[] = {compare}(%m, 16000)
%y: float32[batch] = if_(%c)
  block
    %a: float32[batch] = relu(%x)
    yield %a
  block
    yield %x
return %y
"""


@pytest.mark.parametrize("compare", ["eq", "lt"])
def test_the_number_compared_with_and_the_next(compare: str) -> None:
    graph = parse_graph(TEXT.format(compare=compare))
    assert branch_values(graph.inputs[1], graph.users()) == (16000, 16001)
    assert branch_values(graph.inputs[0], graph.users()) == ()


def test_a_comparison_that_decides_nothing_does_not_count() -> None:
    text = (
        TEXT.format(compare="eq")
        .replace("if_(%c)", "if_(%flag)")
        .replace("return", "%z: bool[] = logical_not(%c)\nreturn")
    )
    graph = parse_graph(text.replace("%m: int64", "%t: float32[] = sum(%x)\n%flag: bool[] = gt(%t, 0.0)\n%m: int64", 1))
    assert branch_values(graph.inputs[1], graph.users()) == ()
