"""Logarithm of a softmax: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike

HEAD = "input %x: float32[batch=2|3|5, 6, 8]\n"
FIRES = {
    "the axis by name": ("%s = softmax(%x, dim=-1)\n%y = log(%s)\nreturn %y", "log_softmax(%x, dim=-1)"),
    "the axis by position": ("%s = softmax(%x, 1)\n%y = log(%s)\nreturn %y", "log_softmax(%x, dim=1)"),
}
UNLIKE = {
    "something added before the logarithm": "%s = softmax(%x, dim=-1)\n%a = add(%s, 1e-6)\n%y = log(%a)\nreturn %y",
    "another base": "%s = softmax(%x, dim=-1)\n%y = log2(%s)\nreturn %y",
}


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, call = FIRES[case]
    assert_fires(HEAD + text, [call])


@pytest.mark.parametrize("case", UNLIKE)
def test_is_unlike(case: str) -> None:
    assert_unlike(HEAD + UNLIKE[case])


def test_shares_that_are_needed_elsewhere() -> None:
    text = "%s = softmax(%x, dim=-1)\n%y = log(%s)\nreturn %y, %s"
    assert_declines(HEAD + text, "log_softmax", "%s, computed on the way, is an output")
