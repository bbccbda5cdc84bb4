"""Vectors of length 1: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike

HEAD = "input %x: float32[batch=2|3|5, 6, 8]\nweight $one: float32[1] parameter\nweight $floor: float32[1] buffer\n"
NORM = "%n = vector_norm(%x, 2, (2,), keepdim=True)\n"
ROOT = "%p = pow(%x, 2.0)\n%s = sum(%p, (1,), keepdim=True)\n%n = sqrt(%s)\n"
FIRES = {
    "a norm": (NORM + "%c = clamp(%n, 1e-12)\n%y = div(%x, %c)\nreturn %y", "normalize(%x, dim=2)"),
    "as the TorchScript exporter has it": (
        NORM + "%c = clamp(%n, min=9.999999960041972e-13)\n%e = expand(%c, (-1, 6, 8))\n%y = div(%x, %e)\nreturn %y",
        "normalize(%x, dim=2)",
    ),
    "a root of squares": (
        ROOT + "%c = maximum(%n, $floor)\n%y = div(%x, %c)\nreturn %y",
        "normalize(%x, dim=1, eps=0.001)",
    ),
}
DECLINES = {
    "a length that is needed elsewhere": (
        NORM + "%c = clamp(%n, 1e-12)\n%y = div(%x, %c)\nreturn %y, %n",
        "%n, computed on the way, is an output",
    ),
    "a least length that is trained": (
        NORM + "%c = maximum(%n, $one)\n%y = div(%x, %c)\nreturn %y",
        "the least length would be trained",
    ),
    "over all axes": (
        "%n = vector_norm(%x, 2, None, keepdim=True)\n%c = clamp(%n, 1e-12)\n%y = div(%x, %c)\nreturn %y",
        "the length is over all axes",
    ),
}
UNLIKE = {
    "no least length": NORM + "%y = div(%x, %n)\nreturn %y",
    "a sum of magnitudes": "%n = vector_norm(%x, 1, (2,), keepdim=True)\n%c = clamp(%n, 1e-12)\n%y = div(%x, %c)\nreturn %y",
    "a greatest length": NORM + "%c = clamp(%n, 1e-12, 5.0)\n%y = div(%x, %c)\nreturn %y",
}


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, call = FIRES[case]
    assert_fires(HEAD + text, [call], {"floor": 0.001})


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str) -> None:
    text, why = DECLINES[case]
    assert_declines(HEAD + text, "normalize", why)


@pytest.mark.parametrize("case", UNLIKE)
def test_is_unlike(case: str) -> None:
    assert_unlike(HEAD + UNLIKE[case])
