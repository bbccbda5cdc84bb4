"""GELU: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike

HEAD = "input %x: float32[batch=2|3|5, 8]\ninput %z: float32[batch=2|3|5, 8]\nweight $six: float32[1] parameter\n"
ERF = "%d = div(%x, 1.4142135381698608)\n%e = erf(%d)\n%a = add(%e, 1.0)\n"
TANH = "%t = tanh(%s)\n%a = add(%t, 1.0)\n"
CUBIC = "%k = mul(%c, 0.044714998453855515)\n%i = add(%x, %k)\n%s = mul(%i, 0.7978845834732056)\n"
FIRES = {
    "TorchScript": (
        ERF + "%m = mul(%x, %a)\n%y = mul(%m, 0.5)\nreturn %y",
        "gelu(%x)",
    ),
    "half first": (
        "%h = mul(%x, 0.5)\n" + ERF + "%y = mul(%h, %a)\nreturn %y",
        "gelu(%x)",
    ),
    "half with the erf": (
        ERF + "%h = mul(%a, 0.5)\n%y = mul(%h, %x)\nreturn %y",
        "gelu(%x)",
    ),
    "a product with one over the root": (
        "%d = mul(%x, 0.7071067690849304)\n%e = erf(%d)\n%a = add(%e, 1.0)\n%m = mul(%x, %a)\n%y = div(%m, 2.0)\nreturn %y",
        "gelu(%x)",
    ),
    "tanh, a cube by power": (
        "%c = pow(%x, 3.0)\n" + CUBIC + TANH + "%h = mul(%x, 0.5)\n%y = mul(%h, %a)\nreturn %y",
        "gelu(%x, approximate='tanh')",
    ),
    "tanh, a cube by product": (
        "%q = mul(%x, %x)\n%c = mul(%x, %q)\n" + CUBIC + TANH + "%h = mul(0.5, %a)\n%y = mul(%x, %h)\nreturn %y",
        "gelu(%x, approximate='tanh')",
    ),
    "tanh, the input factored out": (
        "%q = mul(%x, %x)\n%c = mul(%q, 0.044715)\n%i = add(%c, 1.0)\n%f = mul(%x, 0.7978845834732056)\n%s = mul(%f, %i)\n"
        + TANH
        + "%h = mul(0.5, %a)\n%y = mul(%x, %h)\nreturn %y",
        "gelu(%x, approximate='tanh')",
    ),
}
UNLIKE = {
    "another slope": "%d = div(%x, 1.5)\n%e = erf(%d)\n%a = add(%e, 1.0)\n%m = mul(%x, %a)\n%y = mul(%m, 0.5)\nreturn %y",
    "two inputs": ERF + "%m = mul(%z, %a)\n%y = mul(%m, 0.5)\nreturn %y",
    "the quick form": "%a = mul(%x, 1.702)\n%s = sigmoid(%a)\n%y = mul(%x, %s)\nreturn %y",
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
        HEAD + ERF + "%m = mul(%x, %a)\n%y = mul(%m, 0.5)\nreturn %y, %e",
        "gelu",
        "computed on the way, is an output",
    )
