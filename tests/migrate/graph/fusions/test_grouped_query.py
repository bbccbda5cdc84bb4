"""Attention with shared heads of keys and values: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike

HEAD = """input %q: float32[batch=2|3|5, 8, 4, 16]
input %k: float32[batch=2|3|5, 2, 6, 16]
input %v: float32[batch=2|3|5, 2, 6, 16]
input %mask: float32[batch=2|3|5, 1, 4, 6]
"""
KEYS = "%a = unsqueeze(%k, 2)\n%b = expand(%a, (-1, -1, 4, -1, -1))\n%c = reshape(%b, (%k.shape[0], 8, 6, 16))\n"
VALUES = "%d = unsqueeze(%v, 2)\n%e = expand(%d, (-1, -1, 4, -1, -1))\n%f = reshape(%e, (%k.shape[0], 8, 6, 16))\n"
RESULT = "%y = sdpa(%q, %c, %f)\nreturn %y"
FIRES = {
    "copies behind each head": (KEYS + VALUES + RESULT, ["sdpa(%q, %k, %v, enable_gqa=True)"]),
    "joined by flatten": (
        KEYS.replace("reshape(%b, (%k.shape[0], 8, 6, 16))", "flatten(%b, 1, 2)") + VALUES + RESULT,
        ["sdpa(%q, %k, %v, enable_gqa=True)"],
    ),
    "repeated in one call": (
        "%c = repeat_interleave(%k, 4, dim=1)\n%f = repeat_interleave(%v, 4, 1)\n" + RESULT,
        ["sdpa(%q, %k, %v, enable_gqa=True)"],
    ),
    "a mask and a scale": (
        KEYS + VALUES + "%y = sdpa(%q, %c, %f, attn_mask=%mask, scale=0.5)\nreturn %y",
        ["sdpa(%q, %k, %v, attn_mask=%mask, scale=0.5, enable_gqa=True)"],
    ),
    "in pieces": (
        KEYS + VALUES + "%t = permute(%c, (0, 1, 3, 2))\n%m = matmul(%q, %t)\n%s = div(%m, 4.0)\n"
        "%p = softmax(%s, dim=-1)\n%y = matmul(%p, %f)\nreturn %y",
        ["sdpa(%q, %k, %v, enable_gqa=True)"],
    ),
}  # fmt: skip
DECLINES = {
    "copies that are needed elsewhere": (
        KEYS + VALUES + "%z = relu(%b)\n%y = sdpa(%q, %c, %f)\nreturn %y, %z", "is used by `relu` too",
    ),
    "one head of keys, two of values": (
        "%k1 = getitem(%k, (slice(None, None, None), slice(0, 1, None)))\n%c = repeat_interleave(%k1, 8, dim=1)\n"
        "%f = repeat_interleave(%v, 4, dim=1)\n" + RESULT,
        "do not fit",
    ),
    "the samples are repeated as well": (
        "%k1 = getitem(%k, (slice(0, 1, None),))\n%a = unsqueeze(%k1, 2)\n"
        "%b = expand(%a, (%q.shape[0], -1, 4, -1, -1))\n%c = reshape(%b, (%q.shape[0], 8, 6, 16))\n" + VALUES + RESULT,
        "one by one",
    ),
}  # fmt: skip
UNLIKE = {
    "keys alone": KEYS + "%w = repeat(%v, (1, 4, 1, 1))\n%y = sdpa(%q, %c, %w)\nreturn %y",
    "the heads in turn": (
        "%c = repeat(%k, (1, 4, 1, 1))\n%f = repeat(%v, (1, 4, 1, 1))\n%y = sdpa(%q, %c, %f)\nreturn %y"
    ),
}


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, calls = FIRES[case]
    assert_fires(HEAD + text, calls, scale=1.0)


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str) -> None:
    text, why = DECLINES[case]
    assert_declines(HEAD + text, "grouped_query", why)


@pytest.mark.parametrize("case", UNLIKE)
def test_unlike(case: str) -> None:
    assert_unlike(HEAD + UNLIKE[case])
