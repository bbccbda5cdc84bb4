"""Hard swish: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike

HEAD = "input %x: float32[batch=2|3|5, 8]\ninput %z: float32[batch=2|3|5, 8]\nweight $six: float32[1] parameter\n"
FIRES = {
    "x * clamp(x + 3, 0, 6) / 6": (
        "%a = add(%x, 3.0)\n%c = clamp(%a, 0.0, 6.0)\n%m = mul(%x, %c)\n%y = div(%m, 6.0)\nreturn %y",
        "hardswish(%x)",
    ),
    "x * (clamp(x + 3, 0, 6) / 6)": (
        "%a = add(%x, 3.0)\n%c = clamp(%a, 0.0, 6.0)\n%m = div(%c, 6.0)\n%y = mul(%x, %m)\nreturn %y",
        "hardswish(%x)",
    ),
    "(x / 6) * relu6(x + 3)": (
        "%a = add(%x, 3.0)\n%c = relu6(%a)\n%m = div(%x, 6.0)\n%y = mul(%m, %c)\nreturn %y",
        "hardswish(%x)",
    ),
    "x * hardsigmoid(x)": ("%h = hardsigmoid(%x)\n%y = mul(%h, %x)\nreturn %y", "hardswish(%x)"),
    "numbers stored as tensors": (
        "%a = add(%x, 3.0)\n%c = clamp(%a, 0.0, 6.0)\n%m = mul(%x, %c)\n%y = div(%m, $six)\nreturn %y",
        "hardswish(%x)",
    ),
}
UNLIKE = {
    "a gate": "%h = hardsigmoid(%x)\n%y = mul(%h, %z)\nreturn %y",
}


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, call = FIRES[case]
    assert_fires(HEAD + text, [call], {"six": 6.0})


@pytest.mark.parametrize("case", UNLIKE)
def test_is_unlike(case: str) -> None:
    assert_unlike(HEAD + UNLIKE[case])


def test_a_value_on_the_way_that_is_needed_elsewhere() -> None:
    assert_declines(
        HEAD + "%h = hardsigmoid(%x)\n%y = mul(%h, %x)\nreturn %y, %h", "hardswish", "computed on the way, is an output"
    )
