"""BatchNorm from a scale and a shift: what fires where guesses are asked for, and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike, fused, parsed

HEAD = """input %x: float32[batch=2|3|5, 3, 4, 6]
weight $f: float32[8, 3, 3, 3] parameter
weight $c: float32[8] parameter
weight $w: float32[8, 1, 1] parameter
weight $b: float32[1, 8, 1, 1] parameter
weight $p: float32[4, 6] parameter
weight $one: float32[1, 1, 1] parameter
"""
CONV = "%a = conv2d(%x, $f, None, 1, 1)\n"
AFFINE = "%g = mul(%a, $w)\n%y = add(%g, $b)\nreturn %y"
NORM = (
    "batch_norm(%a, $<b.running_mean>, $<b.running_var>, $w, $b, training=False, momentum=0.1, eps=1e-05)"
)  # fmt: skip
FIRES = {
    "a scale and a shift": (CONV + AFFINE, ["conv2d(%x, $f, None, 1, 1)", NORM]),
    "in the other order": (
        CONV + "%g = mul($w, %a)\n%y = add($b, %g)\nreturn %y", ["conv2d(%x, $f, None, 1, 1)", NORM],
    ),
    "after a convolution with a bias": (
        CONV.replace("None", "$c") + AFFINE, ["conv2d(%x, $f, $c, 1, 1)", NORM],
    ),
}  # fmt: skip
DECLINES = {
    "no convolution": ("%a = tanh(%x)\n%g = mul(%a, $one)\n%y = add(%g, $one)\nreturn %y", "comes from no convolution"),
    "a number for each place": (CONV + AFFINE.replace("$w", "$p"), "not [8]"),
    "a scale that is computed": (CONV + "%s = exp($w)\n" + AFFINE.replace("$w", "%s"), "is computed"),
    "a scale that is used twice": (
        CONV + AFFINE.replace("return %y", "%z = mul(%x, $one)\n%u = exp($w)\nreturn %y, %u"), "is used elsewhere",
    ),
    "what is scaled is needed too": (
        CONV + AFFINE.replace("return %y", "%z = relu(%g)\nreturn %y, %z"), "is used by `relu` too",
    ),
}  # fmt: skip
UNLIKE = {
    "a scale alone": CONV + "%y = mul(%a, $w)\nreturn %y",
    "a shift before the scale": CONV + "%g = add(%a, $b)\n%y = mul(%g, $w)\nreturn %y",
}


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, calls = FIRES[case]
    assert_fires(HEAD + text, calls, inferred=True)


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str) -> None:
    text, why = DECLINES[case]
    assert_declines(HEAD + text, "batch_norm", why, inferred=True)


@pytest.mark.parametrize("case", UNLIKE)
def test_unlike(case: str) -> None:
    assert_unlike(HEAD + UNLIKE[case])


def test_it_is_a_guess_and_says_so() -> None:
    graph = parsed(HEAD + CONV + AFFINE)
    assert not any("batch_norm" in call for call in fused(graph)[0])
    graph = parsed(HEAD + CONV + AFFINE)
    fused(graph, inferred=True)
    (note,) = graph.notes
    assert (note.code, note.severity) == ("MIG319", "warning")
    statistics = {value.weight.kind: value.weight.array() for value in graph.weights() if value.weight.kind}
    assert (statistics["running_mean"] == 0).all()
    assert (statistics["running_var"] + 1e-5 == 1).all()
