"""GLU: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike

HEAD = """input %x: float32[batch=2|3|5, 8, 4]
input %z: float32[batch=2|3|5, 4, 4]
"""
ALL = "slice(None, None, None)"
GATED = "%s = sigmoid(%b)\n%y = mul(%a, %s)\nreturn %y"
FIRES = {
    "a split": ("%a, %b = split(%x, (4, 4), dim=1)\n" + GATED, ["glu(%x, 1)"]),
    "a chunk, the gate in front": (
        "%a, %b = chunk(%x, 2, -1)\n%s = sigmoid(%b)\n%y = mul(%s, %a)\nreturn %y", ["glu(%x, 2)"],
    ),
    "two slices": (
        f"%a = getitem(%x, ({ALL}, slice(None, 4, None)))\n%b = getitem(%x, ({ALL}, slice(4, 8, None)))\n" + GATED,
        ["glu(%x, 1)"],
    ),
}  # fmt: skip
DECLINES = {
    "the first half is the gate": "%b, %a = split(%x, (4, 4), dim=1)\n" + GATED,
    "two of three parts": "%a, %b, %c = split(%x, (2, 2, 4), dim=1)\n" + GATED,
    "every other channel": (
        f"%a = getitem(%x, ({ALL}, slice(None, None, 2)))\n%b = getitem(%x, ({ALL}, slice(1, None, 2)))\n" + GATED
    ),
}
UNLIKE = {
    "a gate that is computed": "%a, %c = split(%x, (4, 4), dim=1)\n%b = tanh(%c)\n" + GATED,
    "halves of two tensors": "%a, %c = split(%x, (2, 6), dim=1)\n%d, %b = split(%z, (2, 2), dim=1)\n" + GATED,
    "SwiGLU": "%a, %b = split(%x, (4, 4), dim=1)\n%s = silu(%b)\n%y = mul(%a, %s)\nreturn %y",
    "a sum": "%a, %b = split(%x, (4, 4), dim=1)\n%s = sigmoid(%b)\n%y = add(%a, %s)\nreturn %y",
}


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, calls = FIRES[case]
    assert_fires(HEAD + text, calls)


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str) -> None:
    assert_declines(HEAD + DECLINES[case], "glu", "not the first and the second half")


@pytest.mark.parametrize("case", UNLIKE)
def test_unlike(case: str) -> None:
    assert_unlike(HEAD + UNLIKE[case])
