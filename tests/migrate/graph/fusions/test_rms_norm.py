"""RMSNorm: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires

HEAD = """input %x: float32[batch=2|3|5, 6, 8]
weight $w: float32[8] parameter
weight $one: float32[1] parameter
%p = pow(%x, 2.0)
%v = mean(%p, (2,), keepdim=True)
"""
FIRES = {
    "as Llama has it": (
        "%e = add(%v, 1e-6)\n%r = rsqrt(%e)\n%d = mul(%x, %r)\n%y = mul($w, %d)\nreturn %y",
        "rms_norm(%x, (8,), $w, 1e-06)",
    ),
    "a division": (
        "%e = add(1e-6, %v)\n%r = sqrt(%e)\n%y = div(%x, %r)\nreturn %y",
        "rms_norm(%x, (8,), None, 1e-06)",
    ),
    "one over the root": (
        "%e = add(1e-6, %v)\n%s = sqrt(%e)\n%r = div(1.0, %s)\n%y = mul(%r, %x)\nreturn %y",
        "rms_norm(%x, (8,), None, 1e-06)",
    ),
    "a power": (
        "%e = add(1e-6, %v)\n%r = pow(%e, -0.5)\n%y = mul(%r, %x)\nreturn %y",
        "rms_norm(%x, (8,), None, 1e-06)",
    ),
}
DECLINES = {
    "a root that is used elsewhere": (
        "%e = add(%v, 1e-6)\n%r = rsqrt(%e)\n%y = mul(%x, %r)\nreturn %y, %r",
        "%r, computed on the way, is an output",
    ),
    "an epsilon that is trained": (
        "%e = add(%v, $one)\n%r = rsqrt(%e)\n%y = mul(%x, %r)\nreturn %y",
        "the epsilon would be trained",
    ),
    "a scale that is computed": ("%d = rms_norm(%x, (8,), None, 1e-06)\n%y = mul(%d, %v)\nreturn %y", "it is computed"),
}


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, call = FIRES[case]
    assert_fires(HEAD + text, [call])


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str) -> None:
    text, why = DECLINES[case]
    assert_declines(HEAD + text, "rms_norm", why)
