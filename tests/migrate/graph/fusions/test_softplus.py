"""Softplus: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike

HEAD = "input %x: float32[batch=2|3|5, 8]\ninput %z: float32[batch=2|3|5, 8]\nweight $six: float32[1] parameter\n"
FIRES = {
    "log(1 + exp(x))": ("%e = exp(%x)\n%a = add(%e, 1.0)\n%y = log(%a)\nreturn %y", "softplus(%x)"),
    "log1p(exp(x))": ("%e = exp(%x)\n%y = log1p(%e)\nreturn %y", "softplus(%x)"),
}
UNLIKE = {
    "log(2 + exp(x))": "%e = exp(%x)\n%a = add(%e, 2.0)\n%y = log(%a)\nreturn %y",
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
        HEAD + "%e = exp(%x)\n%y = log1p(%e)\nreturn %y, %e", "softplus", "computed on the way, is an output"
    )
