"""Pixel unshuffle: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires

HEAD = """input %x: float32[batch=2|3|5, 8, 4, 6]
"""
FIRES = {
    "one step": (
        (
            "%r = reshape(%x, (-1, 8, 2, 2, 3, 2))\n%t = permute(%r, (0, 1, 3, 5, 2, 4))\n"
            "%y = reshape(%t, (-1, 32, 2, 3))\nreturn %y"
        ),
        ["pixel_unshuffle(%x, 2)"],
    ),
    "as the TorchScript exporter has it": (
        (
            "%u = unsqueeze(%x, 3)\n%q = reshape(%u, (%x.shape[0], 8, 2, 2, 6))\n"
            "%r = reshape(%q, (%x.shape[0], 8, 2, 2, 3, 2))\n%t = permute(%r, (0, 1, 3, 5, 2, 4))\n"
            "%z = reshape(%t, (%x.shape[0], 32, 1, 1, 2, 3))\n%y = squeeze(%z, (2, 3))\nreturn %y"
        ),
        ["pixel_unshuffle(%x, 2)"],
    ),
}
DECLINES = {
    "two factors": (
        (
            "%r = reshape(%x, (-1, 8, 2, 2, 2, 3))\n%t = permute(%r, (0, 1, 3, 5, 2, 4))\n"
            "%y = reshape(%t, (-1, 48, 2, 2))\nreturn %y"
        ),
        "not one fixed number",
    ),
    "another end": (
        (
            "%r = reshape(%x, (-1, 8, 2, 2, 3, 2))\n%t = permute(%r, (0, 1, 3, 5, 2, 4))\n"
            "%y = reshape(%t, (-1, 16, 4, 3))\nreturn %y"
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
    assert_declines(HEAD + text, "pixel_unshuffle", why)
