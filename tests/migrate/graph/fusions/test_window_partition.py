"""Windows of an image: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, fused, parsed

IMAGE = "input %x: float32[batch=2|3|5, 8, 12, 6]\n"
FREE = "input %x: float32[batch=2|3|5, height=8|16|4, 12, 6]\n"
SPLIT = "%r = reshape(%x, (%x.shape[0], 2, 4, 3, 4, 6))\n%t = permute(%r, (0, 1, 3, 2, 4, 5))\n"
ROWS = "%y = reshape(%t, (%x.shape[0] * 6, 16, 6))\nreturn %y"
FIRES = {
    "windows of pixels in a row": (
        IMAGE + SPLIT + ROWS, ["window_partition(%x, 4)", "flatten(%window_partition, 1, 2)"],
    ),
    "square windows": (
        IMAGE + SPLIT + "%y = reshape(%t, (-1, 4, 4, 6))\nreturn %y", ["window_partition(%x, 4)"],
    ),
    "an image of any height": (
        FREE + SPLIT.replace("2, 4, 3", "-1, 4, 3") + "%y = reshape(%t, (-1, 4, 4, 6))\nreturn %y",
        ["window_partition(%x, 4)"],
    ),
}  # fmt: skip
DECLINES = {
    "windows that are no squares": (
        IMAGE + SPLIT.replace("2, 4, 3, 4", "4, 2, 3, 4") + "%y = reshape(%t, (-1, 8, 6))\nreturn %y", "not squares",
    ),
    "the pixels of a window as channels": (
        IMAGE + SPLIT + "%y = reshape(%t, (%x.shape[0], 6, 96))\nreturn %y", "samples and windows",
    ),
    "channels that are split": (
        IMAGE + SPLIT.replace("3, 4, 6)", "6, 4, 3)") + "%y = reshape(%t, (-1, 16, 3))\nreturn %y", "not height and width",
    ),
    "one window": (
        "input %x: float32[batch=2|3|5, 4, 4, 6]\n" + SPLIT.replace("2, 4, 3, 4", "1, 4, 1, 4")
        + "%y = reshape(%t, (%x.shape[0], 16, 6))\nreturn %y",
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
    assert_declines(text, "window_partition", why)


def test_another_order_is_unlike() -> None:
    calls, misses = fused(parsed(IMAGE + SPLIT.replace("0, 1, 3, 2", "0, 3, 1, 2") + ROWS))
    assert not any("window" in told for told in (*calls, *(miss.fusion for miss in misses)))
