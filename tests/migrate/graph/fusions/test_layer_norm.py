"""LayerNorm: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike

HEAD = """input %x: float32[batch=2|3|5, 6, 8]
weight $w: float32[8] parameter
weight $b: float32[8] parameter
weight $lead: float32[1, 1, 8] parameter
weight $one: float32[1] parameter
"""
STATISTICS = "%m = mean(%x, (2,), keepdim=True)\n%c = sub(%x, %m)\n"
TAIL = "%g = mul(%d, $w)\n%y = add(%g, $b)\nreturn %y"
FULL = ["layer_norm(%x, (8,), $w, $b, 1e-05)"]
ROOT = "%p = pow(%c, 2.0)\n%v = mean(%p, (2,), keepdim=True)\n%e = add(%v, 9.999999747378752e-06)\n%s = sqrt(%e)\n"

FIRES = {
    "TorchScript": (STATISTICS + ROOT + "%d = div(%c, %s)\n" + TAIL, FULL),
    "a square by multiplication": (
        STATISTICS + ROOT.replace("pow(%c, 2.0)", "mul(%c, %c)") + "%r = reciprocal(%s)\n%d = mul(%r, %c)\n" + TAIL,
        FULL,
    ),
    "one over the root": (
        STATISTICS + ROOT.replace("sqrt", "rsqrt") + "%d = mul(%c, %s)\n%g = mul($w, %d)\n%y = add($b, %g)\nreturn %y",
        FULL,
    ),
    "axes from the end, centred twice": (
        STATISTICS.replace("(2,)", "-1")
        + "%m2 = mean(%x, -1, True)\n%c2 = sub(%x, %m2)\n"
        + ROOT.replace("%c", "%c2")
        + "%d = div(%c, %s)\n"
        + TAIL,
        FULL,
    ),
    "without a scale": (STATISTICS + ROOT + "%y = div(%c, %s)\nreturn %y", ["layer_norm(%x, (8,), None, None, 1e-05)"]),
    "without a shift": (
        STATISTICS + ROOT + "%d = div(%c, %s)\n%y = mul(%d, $w)\nreturn %y",
        ["layer_norm(%x, (8,), $w, None, 1e-05)"],
    ),
    "a scale with leading axes": (
        STATISTICS + ROOT + "%d = div(%c, %s)\n%g = mul(%d, $lead)\n%y = add(%g, $b)\nreturn %y",
        ["layer_norm(%x, (8,), $lead, $b, 1e-05)"],
    ),
    "two axes": (
        "%m = mean(%x, (1, 2), keepdim=True)\n%c = sub(%x, %m)\n"
        + ROOT.replace("(2,)", "(-2, -1)")
        + "%y = div(%c, %s)\nreturn %y",
        ["layer_norm(%x, (6, 8), None, None, 1e-05)"],
    ),
    "a variance": (
        STATISTICS + "%v = var(%x, (2,), correction=0, keepdim=True)\n%e = add(%v, 1e-05)\n%s = sqrt(%e)\n"
        "%d = div(%c, %s)\n" + TAIL,
        FULL,
    ),
    "scaled before it is divided": (
        STATISTICS + ROOT + "%g = mul($w, %c)\n%d = div(%g, %s)\n%y = add(%d, $b)\nreturn %y",
        FULL,
    ),
    "Keras": (
        STATISTICS + ROOT.replace("sqrt", "rsqrt") + "%f = mul(%s, $w)\n%l = mul(%x, %f)\n%n = mul(%m, %f)\n"
        "%t = sub($b, %n)\n%y = add(%l, %t)\nreturn %y",
        FULL,
    ),
    "Keras 3": (
        STATISTICS
        + ROOT.replace("sqrt", "rsqrt")
        + "%f = mul(%s, $w)\n%l = mul(%x, %f)\n%o = neg(%m)\n%n = mul(%o, %f)\n"
        "%t = add(%n, $b)\n%y = add(%l, %t)\nreturn %y",
        FULL,
    ),
}
DECLINES = {
    "axes that are not the last": (
        (STATISTICS + ROOT).replace("(2,)", "(1,)") + "%y = div(%c, %s)\nreturn %y",
        "not the last ones",
    ),
    "two sets of axes": (
        STATISTICS + ROOT.replace("(2,)", "(1, 2)") + "%y = div(%c, %s)\nreturn %y",
        "the variance over others",
    ),
    "an epsilon that is trained": (
        STATISTICS + ROOT.replace("9.999999747378752e-06", "$one") + "%y = div(%c, %s)\nreturn %y",
        "the epsilon would be trained",
    ),
    "the deviation is used elsewhere": (
        STATISTICS + ROOT + "%y = div(%c, %s)\nreturn %y, %s",
        "%s, computed on the way, is an output",
    ),
    "the centred input is used elsewhere": (
        STATISTICS + ROOT + "%d = div(%c, %s)\n%y = maximum(%d, %c)\nreturn %y",
        "%c, computed on the way, is used by `maximum` too",
    ),
    "a scale of another shape": (
        "%d = layer_norm(%x, (8,), None, None, 1e-05)\n%y = mul(%d, $one)\nreturn %y",
        "not [8]",
    ),
    "a scale that is computed": (
        "%d = layer_norm(%x, (8,), None, None, 1e-05)\n%y = mul(%d, %x)\nreturn %y",
        "it is computed",
    ),
    "one tensor as scale and shift": (
        "%d = layer_norm(%x, (8,), $w, None, 1e-05)\n%y = add(%d, $w)\nreturn %y",
        "one tensor of the source",
    ),
    "a free axis": (
        "%t = permute(%x, (1, 2, 0))\n" + (STATISTICS + ROOT).replace("%x", "%t") + "%y = div(%c, %s)\nreturn %y",
        "is not fixed",
    ),
}
UNLIKE = {
    "the deviation of a sample": STATISTICS
    + "%v = std(%x, 2, keepdim=True)\n%e = add(%v, 1e-05)\n%y = div(%c, %e)\nreturn %y",
    "axes that go": "%m = mean(%x, (2,))\n%u = unsqueeze(%m, 2)\n%c = sub(%x, %u)\n%y = tanh(%c)\nreturn %y",
}


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, calls = FIRES[case]
    assert_fires(HEAD + text, calls)


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str) -> None:
    text, why = DECLINES[case]
    assert_declines(HEAD + text, "layer_norm", why)


@pytest.mark.parametrize("case", UNLIKE)
def test_is_unlike(case: str) -> None:
    assert_unlike(HEAD + UNLIKE[case])
