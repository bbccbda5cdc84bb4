"""Rotary positions: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike

ALL = "slice(None, None, None)"
HEAD = """input %x: float32[batch=2|3|5, 2, 4, 8]
input %cos: float32[4, 8]
weight $sin: float32[1, 1, 4, 8] parameter
"""


def part(start: object, stop: object, step: object = None) -> str:
    """Features of x."""
    return f"getitem(%x, ({ALL}, {ALL}, {ALL}, slice({start}, {stop}, {step})))"


LOW, HIGH = f"%a = {part(None, 4)}\n", f"%b = {part(4, None)}\n"
TURNED = "%n = neg(%b)\n%t = cat((%n, %a), dim=-1)\n"
SUM = "%c = mul(%x, %cos)\n%s = mul(%t, $sin)\n%y = add(%c, %s)\nreturn %y"
EVEN, ODD = f"%a = {part(None, None, 2)}\n", f"%b = {part(1, None, 2)}\n"
STACKED = "%n = neg(%b)\n%p = stack((%n, %a), dim=-1)\n%t = flatten(%p, 3)\n"
FIRES = {
    "halves": (LOW + HIGH + TURNED + SUM, ["rotary(%x, %cos, $sin)"]),
    "halves of a split, factors in the other order": (
        "%a, %b = split(%x, (4, 4), dim=-1)\n" + TURNED.replace("dim=-1", "dim=3")
        + "%c = mul(%cos, %x)\n%s = mul($sin, %t)\n%y = add(%s, %c)\nreturn %y",
        ["rotary(%x, %cos, $sin)"],
    ),
    "halves of a chunk": ("%a, %b = chunk(%x, 2, -1)\n" + TURNED + SUM, ["rotary(%x, %cos, $sin)"]),
    "neighbours": (EVEN + ODD + STACKED + SUM, ["rotary(%x, %cos, $sin, interleaved=True)"]),
    "neighbours that are joined": (
        EVEN + ODD + "%n = neg(%b)\n%u = unsqueeze(%n, 4)\n%v = unsqueeze(%a, 4)\n%p = cat((%u, %v), dim=-1)\n"
        "%t = reshape(%p, (%x.shape[0], 2, 4, 8))\n" + SUM,
        ["rotary(%x, %cos, $sin, interleaved=True)"],
    ),
}  # fmt: skip
DECLINES = {
    "the first half is negated": (LOW + HIGH + "%n = neg(%a)\n%t = cat((%n, %b), dim=-1)\n" + SUM, "in pairs"),
    "neither half is negated": (LOW + HIGH + "%n = abs(%b)\n%t = cat((%n, %a), dim=-1)\n" + SUM, "no negative"),
    "unequal parts": ("%a, %b = split(%x, (2, 6), dim=-1)\n" + TURNED + SUM, "in pairs"),
    "along time": (
        "%a, %b = split(%x, (2, 2), dim=2)\n%n = neg(%b)\n%t = cat((%n, %a), dim=2)\n" + SUM, "another axis",
    ),
    "neighbours, joined as halves": (EVEN + ODD + TURNED + SUM, "in pairs"),
    "halves, joined as neighbours": (LOW + HIGH + STACKED + SUM, "in pairs"),
    "three parts": (
        f"%a = {part(None, 2)}\n%b = {part(2, 4)}\n%d = {part(4, None)}\n%t = cat((%a, %b, %d), dim=-1)\n" + SUM,
        "not two tensors",
    ),
    "the turned features are needed elsewhere": (
        LOW + HIGH + TURNED + SUM.replace("return %y", "%z = relu(%t)\nreturn %y, %z"), "is used by `relu` too",
    ),
}  # fmt: skip
UNLIKE = {
    "a difference": LOW + HIGH + TURNED + SUM.replace("add", "sub"),
    "the sine on both": LOW + HIGH + TURNED + "%c = add(%x, %t)\n%y = mul(%c, $sin)\nreturn %y",
}


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, calls = FIRES[case]
    assert_fires(HEAD + text, calls)


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str) -> None:
    text, why = DECLINES[case]
    assert_declines(HEAD + text, "rotary", why)


@pytest.mark.parametrize("case", UNLIKE)
def test_unlike(case: str) -> None:
    assert_unlike(HEAD + UNLIKE[case])
