"""SiLU: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike

HEAD = "input %x: float32[batch=2|3|5, 8]\ninput %z: float32[batch=2|3|5, 8]\nweight $six: float32[1] parameter\n"
FIRES = {
    "x * sigmoid(x)": ("%s = sigmoid(%x)\n%y = mul(%x, %s)\nreturn %y", "silu(%x)"),
    "sigmoid(x) * x": ("%s = sigmoid(%x)\n%y = mul(%s, %x)\nreturn %y", "silu(%x)"),
    "Paddle, with a factor of 1": ("%a = mul(%x, 1.0)\n%s = sigmoid(%a)\n%y = mul(%x, %s)\nreturn %y", "silu(%x)"),
}
UNLIKE = {
    "a gate": "%s = sigmoid(%x)\n%y = mul(%z, %s)\nreturn %y",
    "the quick GELU": "%a = mul(%x, 1.702)\n%s = sigmoid(%a)\n%y = mul(%x, %s)\nreturn %y",
}


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, call = FIRES[case]
    assert_fires(HEAD + text, [call])


@pytest.mark.parametrize("case", UNLIKE)
def test_is_unlike(case: str) -> None:
    assert_unlike(HEAD + UNLIKE[case])


def test_a_value_on_the_way_that_is_needed_elsewhere() -> None:
    assert_declines(
        HEAD + "%s = sigmoid(%x)\n%y = mul(%x, %s)\nreturn %y, %s", "silu", "computed on the way, is an output"
    )
