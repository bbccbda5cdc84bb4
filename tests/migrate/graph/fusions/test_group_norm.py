"""GroupNorm: what fires and what does not."""

import pytest

from tests.migrate.graph.fusions.tables import assert_declines, assert_fires

HEAD = """input %x: float32[batch=2|3|5, 8, 4, 6]
weight $w: float32[8, 1, 1] parameter
weight $b: float32[1, 8, 1, 1] parameter
weight $row: float32[6] parameter
"""
GROUPS = (
    "%r = reshape(%x, (%x.shape[0], 2, -1))\n%n = instance_norm(%r, eps=1e-05)\n"
    "%u = reshape(%n, (%x.shape[0], 8, 4, 6))\n"
)
PIECES = "%r = reshape(%x, (%x.shape[0], 4, -1))\n%n = layer_norm(%r, (48,), None, None, 1e-06)\n"
PIECES += "%u = reshape(%n, (-1, 8, 4, 6))\n"
FIRES = {
    "as the TorchScript exporter has it": (
        GROUPS + "%g = mul(%u, $w)\n%y = add(%g, $b)\nreturn %y",
        ["group_norm(%x, 2, $w, $b, 1e-05)"],
    ),
    "without a scale": (GROUPS + "return %u", ["group_norm(%x, 2, None, None, 1e-05)"]),
    "in pieces": (PIECES + "return %u", ["group_norm(%x, 4, None, None, 1e-06)"]),
}
DECLINES = {
    "another end": (GROUPS.replace("8, 4, 6", "4, 8, 6") + "return %u", "not the shape of what goes in"),
    "samples that are joined": (
        (
            "%r = reshape(%x, (1, 2, -1))\n%n = instance_norm(%r, eps=1e-05)\n"
            "%u = reshape(%n, (%x.shape[0], 8, 4, 6))\nreturn %u"
        ),
        "not the samples",
    ),
    "groups that cut channels": (GROUPS.replace(", 2, -1", ", 16, -1") + "return %u", "not 16 equal groups"),
    "a scale per column": ("%u = group_norm(%x, 2, None, None, 1e-05)\n%y = mul(%u, $row)\nreturn %y", "not [8]"),
}


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, calls = FIRES[case]
    assert_fires(HEAD + text, calls)


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str) -> None:
    text, why = DECLINES[case]
    assert_declines(HEAD + text, "group_norm", why)
