"""Hard sigmoid: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike

HEAD = "input %x: float32[batch=2|3|5, 8]\ninput %z: float32[batch=2|3|5, 8]\nweight $six: float32[1] parameter\n"
FIRES = {
    "clamp(x + 3, 0, 6) / 6": (
        "%a = add(%x, 3.0)\n%c = clamp(%a, 0.0, 6.0)\n%y = div(%c, 6.0)\nreturn %y",
        "hardsigmoid(%x)",
    ),
    "bounds by name": (
        "%a = add(%x, 3.0)\n%c = clamp(%a, min=0, max=6)\n%y = div(%c, 6)\nreturn %y",
        "hardsigmoid(%x)",
    ),
    "relu6(x + 3) * 0.1666667": (
        "%a = add(%x, 3.0)\n%c = relu6(%a)\n%y = mul(%c, 0.1666666716337204)\nreturn %y",
        "hardsigmoid(%x)",
    ),
    "clamp(x / 6 + 0.5, 0, 1)": (
        "%m = mul(%x, 0.1666666716337204)\n%a = add(%m, 0.5)\n%y = clamp(%a, 0.0, 1.0)\nreturn %y",
        "hardsigmoid(%x)",
    ),
}
UNLIKE = {
    "Keras's slope of 0.2": "%m = mul(%x, 0.2)\n%a = add(%m, 0.5)\n%y = clamp(%a, 0.0, 1.0)\nreturn %y",
    "other bounds": "%a = add(%x, 3.0)\n%c = clamp(%a, 0.0, 5.0)\n%y = div(%c, 6.0)\nreturn %y",
    "one bound": "%a = add(%x, 3.0)\n%c = clamp(%a, 0.0)\n%y = div(%c, 6.0)\nreturn %y",
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
        HEAD + "%a = add(%x, 3.0)\n%c = clamp(%a, 0.0, 6.0)\n%y = div(%c, 6.0)\nreturn %y, %c",
        "hardsigmoid",
        "computed on the way, is an output",
    )
