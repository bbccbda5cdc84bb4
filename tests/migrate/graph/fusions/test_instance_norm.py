"""InstanceNorm: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires

HEAD = """input %x: float32[batch=2|3|5, 8, 4, 6]
weight $w: float32[8, 1, 1] parameter
weight $b: float32[1, 8, 1, 1] parameter
weight $row: float32[6] parameter
"""
PIECES = (
    "%m = mean(%x, (2, 3), keepdim=True)\n%c = sub(%x, %m)\n%p = mul(%c, %c)\n"
    "%v = mean(%p, (-1, -2), keepdim=True)\n%e = add(%v, 1e-05)\n%s = sqrt(%e)\n"
    "%d = div(%c, %s)\n"
)
FIRES = {
    "with scale and shift": (
        PIECES + "%g = mul(%d, $w)\n%y = add(%g, $b)\nreturn %y",
        ["instance_norm(%x, None, None, $w, $b, eps=1e-05)"],
    ),
    "without": (PIECES + "return %d", ["instance_norm(%x, eps=1e-05)"]),
}
DECLINES = {
    "over the channels as well": (
        PIECES.replace("(2, 3)", "(1, 2)").replace("(-1, -2)", "(1, 2)") + "return %d",
        "not all but samples and channels",
    ),
    "a scale per column": ("%d = instance_norm(%x, eps=1e-05)\n%y = mul(%d, $row)\nreturn %y", "not [8]"),
}


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, calls = FIRES[case]
    assert_fires(HEAD + text, calls)


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str) -> None:
    text, why = DECLINES[case]
    assert_declines(HEAD + text, "instance_norm", why)
