"""Channel shuffle: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires

HEAD = """input %x: float32[batch=2|3|5, 8, 4, 6]
"""
FIRES = {
    "a permutation": (
        (
            "%r = reshape(%x, (%x.shape[0], 2, 4, 4, 6))\n%t = permute(%r, (0, 2, 1, 3, 4))\n"
            "%y = reshape(%t, (-1, 8, 4, 6))\nreturn %y"
        ),
        ["channel_shuffle(%x, 2)"],
    ),
    "a transposition": (
        (
            "%r = reshape(%x, (-1, 4, 2, 4, 6))\n%t = transpose(%r, 1, 2)\n"
            "%y = reshape(%t, (%x.shape[0], 8, 4, 6))\nreturn %y"
        ),
        ["channel_shuffle(%x, 4)"],
    ),
}
DECLINES = {
    "another order": (
        (
            "%r = reshape(%x, (-1, 2, 4, 4, 6))\n%t = permute(%r, (0, 2, 1, 4, 3))\n"
            "%y = reshape(%t, (-1, 8, 4, 6))\nreturn %y"
        ),
        "is another",
    ),
    "another shape": (
        (
            "%r = reshape(%x, (-1, 2, 4, 4, 6))\n%t = permute(%r, (0, 2, 1, 3, 4))\n"
            "%y = reshape(%t, (-1, 4, 2, 24))\nreturn %y"
        ),
        "the shape in which it began",
    ),
    "height instead of channels": (
        (
            "%r = reshape(%x, (-1, 8, 2, 2, 6))\n%t = permute(%r, (0, 2, 1, 3, 4))\n"
            "%y = reshape(%t, (-1, 8, 4, 6))\nreturn %y"
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
    assert_declines(HEAD + text, "channel_shuffle", why)
