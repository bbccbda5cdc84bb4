"""Space to depth by slices: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike

HEAD = "input %x: float32[batch=2|3|5, 6, 8, 4]\n"
ALL = "slice(None, None, None)"
COLUMNS = ((0, 0), (1, 0), (0, 1), (1, 1))


def pixels(places: tuple[tuple[int, int], ...], *, first: int = 2, twice: bool = False) -> str:
    """The parts %p0 to %p3; `first` is the axis of rows."""
    lines: list[str] = []
    for number, (row, column) in enumerate(places):
        before, rows, columns = ", ".join([ALL] * first), f"slice({row}, None, 2)", f"slice({column}, None, 2)"
        if twice:
            lines.append(f"%r{number} = getitem(%x, ({before}, {rows}))")
            lines.append(f"%p{number} = getitem(%r{number}, ({before}, {ALL}, {columns}))")
        else:
            lines.append(f"%p{number} = getitem(%x, ({before}, {rows}, {columns}))")
    return "\n".join(lines) + "\n"


JOINED = "%y = cat((%p0, %p1, %p2, %p3), dim=1)\nreturn %y"
FIRST = [
    "unflatten(%x, 3, (-1, 2))", "unflatten(%unflatten, 2, (-1, 2))", "permute(%unflatten_1, (0, 5, 3, 1, 2, 4))",
    "flatten(%permute, 1, 3)",
]  # fmt: skip
FIRES = {
    "by column": (pixels(COLUMNS) + JOINED, FIRST),
    "in two slices each": (pixels(COLUMNS, twice=True) + JOINED, FIRST),
    "by row": (
        pixels(((0, 0), (0, 1), (1, 0), (1, 1))) + JOINED,
        [*FIRST[:2], "permute(%unflatten_1, (0, 3, 5, 1, 2, 4))", FIRST[3]],
    ),
    "channels last": (
        pixels(COLUMNS, first=1) + JOINED.replace("dim=1", "dim=-1"),
        ["unflatten(%x, 2, (-1, 2))", "unflatten(%unflatten, 1, (-1, 2))", "permute(%unflatten_1, (0, 1, 3, 4, 2, 5))",
         "flatten(%permute, 3)"],
    ),
}  # fmt: skip
DECLINES = {
    "a pixel twice": (pixels(((0, 0), (1, 0), (1, 0), (1, 1))) + JOINED, "the four pixels"),
    "another order": (pixels(COLUMNS[::-1]) + JOINED, "the four pixels"),
    "joined along rows": (pixels(COLUMNS) + JOINED.replace("dim=1", "dim=2"), "not the channels"),
    "a part that is needed elsewhere": (
        pixels(COLUMNS) + JOINED.replace("return %y", "%z = relu(%p1)\nreturn %y, %z"), "is used by `relu` too",
    ),
}  # fmt: skip
UNLIKE = {
    "three parts": pixels(COLUMNS) + "%y = cat((%p0, %p1, %p2), dim=1)\nreturn %y",
}


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, calls = FIRES[case]
    assert_fires(HEAD + text, calls)


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str) -> None:
    text, why = DECLINES[case]
    assert_declines(HEAD + text, "space_to_depth", why)


@pytest.mark.parametrize("case", UNLIKE)
def test_unlike(case: str) -> None:
    assert_unlike(HEAD + UNLIKE[case])
