"""Roll: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike, fused, parsed

HEAD = "input %x: float32[batch=2|3|5, 8, 6]\ninput %z: float32[batch=2|3|5, 8, 6]\n"
ALL = "slice(None, None, None)"


def cut(name: str, start: int | None, stop: int | None, *, of: str = "x", axis: int = 1) -> str:
    """A slice along an axis."""
    return f"%{name} = getitem(%{of}, ({', '.join([ALL] * axis)}, slice({start}, {stop}, None)))\n"


ROLLED = cut("a", 3, None) + cut("b", None, 3) + "%r = cat((%a, %b), dim=1)\n"
FIRES = {
    "forwards": (ROLLED + "return %r", ["roll(%x, -3, 1)"]),
    "backwards": (cut("a", -2, None) + cut("b", None, -2) + "%y = cat((%a, %b), dim=-2)\nreturn %y", ["roll(%x, 2, 1)"]),
    "parts of a split": ("%b, %a = split(%x, (2, 4), dim=2)\n%y = cat((%a, %b), dim=2)\nreturn %y", ["roll(%x, -2, 2)"]),
    "two axes": (
        ROLLED + cut("c", 2, None, of="r", axis=2) + cut("d", None, 2, of="r", axis=2)
        + "%y = cat((%c, %d), dim=2)\nreturn %y",
        ["roll(%x, (-3, -2), (1, 2))"],
    ),
}  # fmt: skip
DECLINES = {
    "joined along another axis": (
        cut("a", 4, None) + cut("b", None, 4) + "%y = cat((%a, %b), dim=2)\nreturn %y", "different axes",
    ),
    "with a gap": (cut("a", 4, None) + cut("b", None, 3) + "%y = cat((%a, %b), dim=1)\nreturn %y", "not the whole"),
    "in its own order": (cut("a", None, 3) + cut("b", 3, None) + "%y = cat((%a, %b), dim=1)\nreturn %y", "not the whole"),
}  # fmt: skip
UNLIKE = {
    "parts of two tensors": cut("a", 3, None) + cut("b", None, 3, of="z") + "%y = cat((%a, %b), dim=1)\nreturn %y",
    "whole tensors": "%y = cat((%x, %z), dim=1)\nreturn %y",
    "three parts": cut("a", 3, None) + cut("b", None, 3) + "%y = cat((%a, %b, %x), dim=1)\nreturn %y",
}


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, calls = FIRES[case]
    assert_fires(HEAD + text, calls)


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str) -> None:
    text, why = DECLINES[case]
    assert_declines(HEAD + text, "roll", why)


@pytest.mark.parametrize("case", UNLIKE)
def test_unlike(case: str) -> None:
    assert_unlike(HEAD + UNLIKE[case])


def test_one_axis_twice_stays_two_rolls() -> None:
    text = ROLLED + cut("c", 2, None, of="r") + cut("d", None, 2, of="r") + "%y = cat((%c, %d), dim=1)\nreturn %y"
    assert_fires(HEAD + text, ["roll(%x, -3, 1)", "roll(%r, -2, 1)"])
    _, misses = fused(parsed(HEAD + text))
    assert [miss.why for miss in misses if miss.fusion == "roll"] == ["both roll the same axis"]
