"""Mish: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike

HEAD = "input %x: float32[batch=2|3|5, 8]\ninput %z: float32[batch=2|3|5, 8]\nweight $six: float32[1] parameter\n"
FIRES = {
    "x * tanh(softplus(x))": ("%s = softplus(%x)\n%t = tanh(%s)\n%y = mul(%x, %t)\nreturn %y", "mish(%x)"),
    "all in pieces": (
        "%e = exp(%x)\n%a = add(%e, 1.0)\n%s = log(%a)\n%t = tanh(%s)\n%y = mul(%t, %x)\nreturn %y",
        "mish(%x)",
    ),
}
UNLIKE = {
    "of another input": "%s = softplus(%z)\n%t = tanh(%s)\n%y = mul(%x, %t)\nreturn %y",
    "a softplus of another slope": "%s = softplus(%x, 2.0)\n%t = tanh(%s)\n%y = mul(%x, %t)\nreturn %y",
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
        HEAD + "%s = softplus(%x)\n%t = tanh(%s)\n%y = mul(%x, %t)\nreturn %y, %t",
        "mish",
        "computed on the way, is an output",
    )
