"""Attention: what fires, with which arguments, and what does not."""

import numpy as np
import pytest

from migrate.graph import ByMode
from migrate.graph.passes.fuse import fuse
from tests.migrate.graph.fusions.tables import assert_declines, assert_fires, assert_unlike, parsed

HEAD = """input %q: float32[batch=2|3|5, 2, 4, 16]
input %k: float32[batch=2|3|5, 2, 6, 16]
input %v: float32[batch=2|3|5, 2, 6, 8]
input %any: float32[batch=2|3|5, 1, 4, 6]
weight $mask: float32[4, 6] buffer
weight $bias: float32[1, 2, 4, 6] parameter
weight $keep: bool[1, 1, 4, 6] buffer
weight $one: float32[1] parameter
"""
KEYS = "%t = permute(%k, (0, 1, 3, 2))\n"
SCORES = KEYS + "%a = matmul(%q, %t)\n%s = div(%a, 4.0)\n"
TAIL = "%p = softmax(%m, dim=-1)\n%y = matmul(%p, %v)\nreturn %y"
PLAIN = TAIL.replace("%m", "%s")
FIRES = {
    "a quotient": (SCORES + PLAIN, ["sdpa(%q, %k, %v)"]),
    "weights that are no numbers are 0": (
        SCORES + "%p = softmax(%s, dim=-1)\n%n = isnan(%p)\n%w = where(%n, 0.0, %p)\n%y = matmul(%w, %v)\nreturn %y",
        ["sdpa(%q, %k, %v)"],
    ),
    "a product": (SCORES.replace("div(%a, 4.0)", "mul(0.25, %a)") + PLAIN, ["sdpa(%q, %k, %v)"]),
    "another scale": (SCORES.replace("4.0", "3.0") + PLAIN, ["sdpa(%q, %k, %v, scale=0.33333334)"]),
    "no scale": (KEYS + "%s = matmul(%q, %t)\n" + PLAIN, ["sdpa(%q, %k, %v, scale=1.0)"]),
    "scaled queries": (KEYS + "%r = div(%q, 4.0)\n%s = matmul(%r, %t)\n" + PLAIN, ["sdpa(%q, %k, %v)"]),
    "the root of the scale twice": (
        KEYS + "%r = mul(%q, 0.5)\n%u = mul(%t, 0.5)\n%s = matmul(%r, %u)\n" + PLAIN,
        ["sdpa(%q, %k, %v)"],
    ),
    "a scale that Paddle stores": (SCORES.replace("div(%a, 4.0)", "mul(%a, $one)") + PLAIN, ["sdpa(%q, %k, %v)"]),
    "a constant mask": (SCORES + "%m = add(%s, $mask)\n" + TAIL, ["sdpa(%q, %k, %v, attn_mask=$mask)"]),
    "a bias that is trained": (SCORES + "%m = add($bias, %s)\n" + TAIL, ["sdpa(%q, %k, %v, attn_mask=$bias)"]),
    "a mask that is computed": (SCORES + "%m = add(%s, %any)\n" + TAIL, ["sdpa(%q, %k, %v, attn_mask=%any)"]),
    "chosen by a constant": (SCORES + "%m = where($keep, %s, -1e9)\n" + TAIL, ["sdpa(%q, %k, %v, attn_mask=$keep)"]),
    "chosen by what is computed": (
        "%c = gt(%any, -1.0)\n" + SCORES + "%m = where(%c, %s, -1e999)\n" + TAIL,
        ["gt(%any, -1.0)", "sdpa(%q, %k, %v, attn_mask=%c)"],
    ),
    "filled where a condition holds": (
        "%c = gt(%any, 1.5)\n" + SCORES + "%m = masked_fill(%s, %c, -1e999)\n" + TAIL,
        ["gt(%any, 1.5)", "logical_not(%c)", "sdpa(%q, %k, %v, attn_mask=%logical_not)"],
    ),
    "the axis counted from the front": (SCORES + PLAIN.replace("dim=-1", "3"), ["sdpa(%q, %k, %v)"]),
    "keys that were turned once": (
        "%h = permute(%k, (0, 2, 1, 3))\n%z = relu(%h)\n%t = permute(%z, (0, 2, 3, 1))\n%a = matmul(%q, %t)\n"
        "%s = div(%a, 4.0)\n" + PLAIN,
        ["permute(%k, (0, 2, 1, 3))", "relu(%h)", "permute(%z, (0, 2, 1, 3))", "sdpa(%q, %permute, %v)"],
    ),
    "a dropout of none": (
        SCORES + "%p = softmax(%s, dim=-1)\n%d = dropout(%p, 0.0, False)\n%y = matmul(%d, %v)\nreturn %y",
        ["sdpa(%q, %k, %v)"],
    ),
}
CONSTANTS = {"mask": [[0, 0, -2, 0, 1, 0]], "keep": np.eye(4, 6) + np.eye(4, 6, k=2) > 0, "one": 0.25}
DECLINES = {
    "the softmax is over the queries": (SCORES + PLAIN.replace("dim=-1", "dim=2"), "not over the keys"),
    "two axes": (
        "%a2 = getitem(%q, (0, 0))\n%t2 = getitem(%k, (0, 0))\n%v2 = getitem(%v, (0, 0))\n%t = permute(%t2, (1, 0))\n"
        "%s = matmul(%a2, %t)\n" + PLAIN.replace("%v)", "%v2)"),
        "2, 2 and 2 axes",
    ),
    "keys of one head for all": (
        "%g = getitem(%k, (slice(None, None, None), slice(0, 1, None)))\n" + SCORES.replace("%k", "%g") + PLAIN,
        "not of one batch",
    ),
    "a scale that is trained": (SCORES.replace("div(%a, 4.0)", "mul(%a, $one)") + PLAIN, "the scale would be trained"),
    "weights that are needed": (SCORES + PLAIN + ", %p", "%p, computed on the way, is an output"),
    "a finite fill, chosen by what is computed": (
        "%c = gt(%any, 0.0)\n" + SCORES + "%m = where(%c, %s, -1e9)\n" + TAIL,
        "would attend to none",
    ),
    "a finite fill and a query without keys": (
        SCORES + "%m = where($keep, %s, -1e9)\n" + TAIL,
        "a query has all its keys masked",
    ),
    "a fill that masks nothing": (SCORES + "%m = where($keep, %s, -1.0)\n" + TAIL, "keeps a weight"),
}
UNLIKE = {
    "no softmax": SCORES + "%y = matmul(%s, %v)\nreturn %y",
    "a softmax of no product": "%p = softmax(%any, dim=-1)\n%y = matmul(%p, %v)\nreturn %y",
}
SQUARE = """input %q: float32[batch=2|3|5, 2, 4, 16]
input %v: float32[batch=2|3|5, 2, 4, 8]
weight $mask: float32[1, 1, 8, 8] buffer
%sliced = getitem($mask, (slice(None, None, None), slice(None, None, None), slice(None, 4, None), slice(0, 4, None)))
%t = permute(%q, (0, 1, 3, 2))
%a = matmul(%q, %t)
%s = div(%a, 4.0)
%m = add(%s, %sliced)
"""
CAUSAL = np.triu(np.full((8, 8), -1e9), 1)


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str) -> None:
    text, calls = FIRES[case]
    assert_fires(HEAD + text, calls, CONSTANTS, scale=1.0)


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str) -> None:
    text, why = DECLINES[case]
    assert_declines(HEAD + text, "sdpa", why, {"one": 0.7, "keep": np.eye(4, 6, k=3) > 0})


@pytest.mark.parametrize("case", UNLIKE)
def test_is_unlike(case: str) -> None:
    assert_unlike(HEAD + UNLIKE[case])


@pytest.mark.parametrize(
    ("mask", "causal"),
    [(CAUSAL, True), (CAUSAL.T, False), (CAUSAL / 1e9, False), (np.tril(CAUSAL + 1), False), (np.zeros((8, 8)), False)],
)
def test_only_a_causal_mask_is_causal(mask: np.ndarray, causal: bool) -> None:
    sliced = (
        "getitem($mask, (slice(None, None, None), slice(None, None, None), slice(None, 4, None), slice(0, 4, None)))"
    )
    calls = ["sdpa(%q, %q, %v, is_causal=True)"] if causal else [sliced, "sdpa(%q, %q, %v, attn_mask=%sliced)"]
    assert_fires(SQUARE + TAIL, calls, {"mask": mask}, scale=1.0)


def test_a_causal_condition() -> None:
    text = (
        SQUARE.replace("$mask: float32", "$mask: bool").replace("add(%s, %sliced)", "where(%sliced, %s, -1e9)") + TAIL
    )
    assert_fires(text, ["sdpa(%q, %q, %v, is_causal=True)"], {"mask": np.tri(8)}, scale=1.0)


def test_a_slice_from_the_middle_is_no_causal_mask() -> None:
    text = SQUARE.replace("slice(None, 4, None), slice(0", "slice(2, 6, None), slice(0") + TAIL
    graph = parsed(text, {"mask": CAUSAL})
    fuse(graph)
    assert "is_causal" not in graph.nodes[-1].kwargs


@pytest.mark.parametrize("arguments", ["%p, 0.1", "%p, p=0.1, training=False"])
def test_a_dropout_follows_the_mode(arguments: str) -> None:
    text = SCORES + f"%p = softmax(%s, dim=-1)\n%d = dropout({arguments})\n%y = matmul(%d, %v)\nreturn %y"
    graph = parsed(HEAD + text)
    fuse(graph)
    assert graph.nodes[-1].op.name == "sdpa"
    assert graph.nodes[-1].kwargs == {"dropout_p": ByMode(0.1, 0.0)}


def test_a_causal_condition_that_is_computed_from_a_constant() -> None:
    """As `masked_fill(ones.triu(1), -inf)` is exported."""
    made = "%later = triu($mask, 1)\n%later4 = getitem(%later, (0, 0, slice(None, 4, None), slice(None, 4, None)))"
    text = "\n".join(made if line.startswith("%sliced") else line for line in SQUARE.splitlines())
    text = text.replace("$mask: float32", "$mask: bool").replace("add(%s, %sliced)", "where(%later4, -1e999, %s)")
    assert_fires(f"{text}\n{TAIL}", ["sdpa(%q, %q, %v, is_causal=True)"], {"mask": True}, scale=1.0)
