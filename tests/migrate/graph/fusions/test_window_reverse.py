"""Windows that become their image again: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, fused, parsed

HEAD = "input %x: float32[batch=2|3|5, 6, 16, 6]\n%w = reshape(%x, (%x.shape[0] * 6, 16, 6))\n"
SPLIT = "%r = reshape(%w, (%x.shape[0], 2, 3, 4, 4, 6))\n%t = permute(%r, (0, 1, 3, 2, 4, 5))\n"
IMAGE = "%y = reshape(%t, (%x.shape[0], 8, 12, 6))\nreturn %y"
FIRES = {
    "pixels in a row": (
        HEAD + SPLIT + IMAGE,
        ["reshape(%x, (%x.shape[0] * 6, 16, 6))", "unflatten(%w, 1, (4, 4))", "window_reverse(%unflatten, 8, 12)"],
    ),
    "squares": (
        HEAD.replace("* 6, 16, 6", "* 6, 4, 4, 6") + SPLIT + "%y = reshape(%t, (-1, 8, 12, 6))\nreturn %y",
        ["reshape(%x, (%x.shape[0] * 6, 4, 4, 6))", "window_reverse(%w, 8, 12)"],
    ),
}
DECLINES = {
    "another shape": (HEAD + SPLIT + "%y = reshape(%t, (%x.shape[0], 96, 1, 6))\nreturn %y", "not height and width"),
    "windows that are no squares": (
        HEAD + SPLIT.replace("2, 3, 4, 4", "2, 3, 2, 8") + "%y = reshape(%t, (-1, 4, 24, 6))\nreturn %y", "not squares",
    ),
    "pixels and channels mixed": (
        HEAD.replace("* 6, 16, 6", "* 6, 6, 16") + SPLIT + IMAGE, "are not the samples",
    ),
    "one window": (
        "input %x: float32[batch=2|3|5, 16, 6]\n%w = relu(%x)\n" + SPLIT.replace("2, 3, 4", "1, 1, 4")
        + "%y = reshape(%t, (%x.shape[0], 4, 4, 6))\nreturn %y",
        "one window only",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, calls = FIRES[case]
    assert_fires(text, calls)


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str) -> None:
    text, why = DECLINES[case]
    assert_declines(text, "window_reverse", why)


def test_another_order_is_unlike() -> None:
    calls, misses = fused(parsed(HEAD + SPLIT.replace("0, 1, 3, 2", "0, 3, 1, 2") + IMAGE))
    assert not any("window" in told for told in (*calls, *(miss.fusion for miss in misses)))
