"""Which activation an output ends in."""

import pytest

from migrate.graph.final import final_activation, is_probability
from migrate.graph.text import parse_graph

HEAD = "graph m\ninput %x: float32[batch=2|3|5, 4]\n"


@pytest.mark.parametrize(
    ("body", "op"),
    [
        ("%y = softmax(%x, -1)\nreturn %y", "softmax"),
        ("%y = sigmoid(%x)\nreturn %y", "sigmoid"),
        ("%y = relu(%x)\nreturn %y", None),
        ("%y = softmax(%x, -1)\n%z = relu(%y)\nreturn %y, %z", None),
        ("weight $w: float32[4] parameter\n%y = sigmoid($w)\nreturn %y", None),
        ("return %x", None),
    ],
)
def test_an_activation_is_final_where_nothing_else_uses_it(body: str, op: str | None) -> None:
    graph = parse_graph(HEAD + body)
    found = final_activation(graph.outputs[0], graph.users())
    assert (found.op.name if found else None) == op


TAKEN = "%z = if_(%f)\n  block\n    %a = sigmoid(%x)\n    yield %a\n  block\n    {}\nreturn %z"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%y = sigmoid(%x)\n%z = mean(%y)\nreturn %z", True),
        ("%y = sigmoid(%x)\n%z = mul(%y, 2.0)\nreturn %z", False),
        (TAKEN.format("%c = softmax(%x, -1)\n    yield %c"), True),
        (TAKEN.format("yield %x"), False),
    ],
)
def test_a_probability_is_one_through_averages_and_branches(body: str, expected: bool) -> None:
    graph = parse_graph(HEAD + "input %f: bool[]\n" + body)
    assert is_probability(graph.outputs[0]) is expected
