"""Which activation an output ends in."""

import pytest

from migrate.graph.final import final_activation
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
