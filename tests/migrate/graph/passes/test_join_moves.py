"""Chains of moves: what they become, what is left alone, and that no element goes elsewhere."""

import pytest
import torch

from migrate.graph import interpret
from migrate.graph.check import check
from migrate.graph.passes.join_moves import join_moves
from migrate.graph.text import print_graph
from tests.migrate.graph.fusions.tables import drawn, parsed

ALL = "slice(None, None, None)"
HEAD = "input %x: float32[batch=2|3|5, 10, 36]\n"
W = "weight $w: float32[36, 36] parameter\nweight $b: float32[36] parameter\n"
BECOMES = {
    "a transpose and its inverse": (
        "%a = permute(%x, (0, 2, 1))\n%b = relu(%a)\n%c = permute(%b, (2, 0, 1))\n"
        "%d = permute(%c, (1, 2, 0))\n%y = neg(%d)\nreturn %y",
        ["transpose(%x, 1, 2)", "relu(%a)", "neg(%b)"],
    ),
    "heads that an exporter folds into the batch": (
        "%a = transpose(%x, 0, 1)\n%b = reshape(%a, (10, %x.shape[0] * 3, 12))\n%c = transpose(%b, 0, 1)\n"
        "%y = reshape(%c, (%x.shape[0], 3, 10, 12))\nreturn %y",
        ["unflatten(%x, -1, (3, 12))", "transpose(%unflatten, 1, 2)"],
    ),
    "heads that are joined": (
        "%h = unflatten(%x, -1, (3, 12))\n%r = relu(%h)\n%a = permute(%r, (0, 2, 1, 3))\n%b = permute(%a, (0, 2, 1, 3))\n"
        "%y = reshape(%b, (%x.shape[0], 10, 36))\nreturn %y",
        ["unflatten(%x, -1, (3, 12))", "relu(%h)", "flatten(%r, 2)"],
    ),
    "an axis that comes and goes": (
        "%a = unsqueeze(%x, 0)\n%b = transpose(%a, 0, 2)\n%y = squeeze(%b, 2)\nreturn %y",
        ["transpose(%x, 0, 1)"],
    ),
    "a linear layer on folded axes": (
        "%a = reshape(%x, (%x.shape[0] * 10, 36))\n%l = linear(%a, $w, $b)\n%y = reshape(%l, (%x.shape[0], 10, 36))\nreturn %y",
        ["linear(%x, $w, $b)"],
    ),
    "a linear layer between transposes": (
        "%a = permute(%x, (1, 0, 2))\n%l = linear(%a, $w, $b)\n%u = unflatten(%l, -1, (3, 12))\n"
        "%y = permute(%u, (1, 0, 2, 3))\nreturn %y",
        ["linear(%x, $w, $b)", "unflatten(%linear, -1, (3, 12))"],
    ),
    "three tensors in one": (
        "%a = reshape(%x, (%x.shape[0], 10, 3, 12))\n%b = permute(%a, (2, 0, 1, 3))\n%q = select(%b, 0, 0)\n"
        "%k = select(%b, 0, 1)\n%v = getitem(%b, 2)\n%y = add(%q, %k)\n%z = mul(%y, %v)\nreturn %z",
        ["unflatten(%x, -1, (3, 12))", "permute(%unflatten, (2, 0, 1, 3))", "unbind(%permute, 0)", "add(%q, %k)",
         "mul(%y, %v)"],
    ),
    "slices of one element, each turned alike": (
        "%a = reshape(%x, (%x.shape[0], 10, 2, 18))\n"
        f"%p = getitem(%a, ({ALL}, {ALL}, slice(0, 1, None)))\n%q = squeeze(%p, 2)\n"
        f"%r = transpose(%q, 1, 2)\n%s = getitem(%a, ({ALL}, {ALL}, slice(1, 2, None)))\n"
        "%t = squeeze(%s, 2)\n%u = transpose(%t, 1, 2)\n"
        "%y = add(%r, %u)\nreturn %y",
        ["unflatten(%x, -1, (2, 18))", "permute(%unflatten, (2, 0, 3, 1))", "unbind(%permute, 0)", "add(%r, %u)"],
    ),
}  # fmt: skip
STAYS = {
    "an inner value is needed elsewhere": "%a = transpose(%x, 1, 2)\n%y = transpose(%a, 1, 2)\n%z = relu(%a)\nreturn %y, %z",
    "a reshape across axes": "%a = reshape(%x, (%x.shape[0], 36, 10))\n%y = transpose(%a, 1, 2)\nreturn %y",
    "the layer would see another axis": (
        "%a = unflatten(%x, 1, (5, 2))\n%l = linear(%a, $w, $b)\n%y = transpose(%l, 1, 3)\nreturn %y"
    ),
    "one of the elements is not taken": (
        "%a = unflatten(%x, -1, (3, 12))\n%q = select(%a, 2, 0)\n%k = select(%a, 2, 2)\n%y = add(%q, %k)\nreturn %y"
    ),
}


def calls(text: str) -> list[str]:
    """The calls after the pass; every output is the same to the bit as before, but for what a matrix product rounds."""
    before, after = parsed(HEAD + W + text), parsed(HEAD + W + text)
    join_moves(after)
    check(after)
    given = [drawn(value, 1.0) for value in before.inputs]
    for got, wanted in zip(interpret(after, *given), interpret(before, *given), strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-6, atol=1e-6 if "linear" in text else 0)
    return [line.partition(" = ")[2] for line in print_graph(after).splitlines() if " = " in line]


@pytest.mark.parametrize("case", BECOMES)
def test_it_becomes(case: str) -> None:
    text, wanted = BECOMES[case]
    assert calls(text) == wanted


@pytest.mark.parametrize("case", STAYS)
def test_it_stays(case: str) -> None:
    text = STAYS[case]
    assert calls(text) == [line.partition(" = ")[2] for line in text.splitlines() if " = " in line]


def test_what_an_author_wrote_in_pytorch_stays() -> None:
    graph = parsed(HEAD + "%a = transpose(%x, 1, 2)\n%y = transpose(%a, 1, 2)\nreturn %y")
    graph.classes = {(): "mine.Model"}
    assert join_moves(graph) == 0
    graph.classes = {(): "torch.nn.modules.activation.MultiheadAttention"}
    graph.outputs = list(graph.outputs)
    assert join_moves(graph) == 0  # an output keeps its name
