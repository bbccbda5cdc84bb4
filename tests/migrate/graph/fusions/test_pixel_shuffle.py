"""Pixel shuffle: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires

HEAD = """input %x: float32[batch=2|3|5, 8, 4, 6]
"""
FIRES = {
    "rows and columns": (
        (
            "%r = reshape(%x, (-1, 2, 2, 2, 4, 6))\n%t = permute(%r, (0, 1, 4, 2, 5, 3))\n"
            "%y = reshape(%t, (-1, 2, 8, 12))\nreturn %y"
        ),
        ["pixel_shuffle(%x, 2)"],
    ),
}
DECLINES = {
    "two factors": (
        (
            "%r = reshape(%x, (-1, 2, 4, 1, 4, 6))\n%t = permute(%r, (0, 1, 4, 2, 5, 3))\n"
            "%y = reshape(%t, (-1, 2, 16, 6))\nreturn %y"
        ),
        "not one fixed number",
    ),
    "another end": (
        (
            "%r = reshape(%x, (-1, 2, 2, 2, 4, 6))\n%t = permute(%r, (0, 1, 4, 2, 5, 3))\n"
            "%y = reshape(%t, (-1, 2, 4, 24))\nreturn %y"
        ),
        "not rows and columns",
    ),
    "another beginning": (
        (
            "%r = reshape(%x, (-1, 4, 2, 2, 2, 6))\n%t = permute(%r, (0, 1, 4, 2, 5, 3))\n"
            "%y = reshape(%t, (-1, 4, 4, 12))\nreturn %y"
        ),
        "not the channels",
    ),
}


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, calls = FIRES[case]
    assert_fires(HEAD + text, calls)


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str) -> None:
    text, why = DECLINES[case]
    assert_declines(HEAD + text, "pixel_shuffle", why)
