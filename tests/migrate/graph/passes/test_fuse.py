"""The pass that runs the fusions: what becomes of values, names, scopes, origins and blocks. Each fusion has its own tests."""

import time

import pytest
import torch

from migrate.graph import Graph, interpret
from migrate.graph.check import check
from migrate.graph.passes.fuse import NearMiss, fuse, fuse_exported, near_misses
from migrate.graph.text import parse_graph, print_graph

HEAD = "graph m\ninput %x: float32[batch=2|3|5, 8]\ninput %flag: bool[]\n"


def after(text: str) -> tuple[Graph, list[str], list[NearMiss]]:
    graph = parse_graph(HEAD + text)
    misses: list[NearMiss] = []
    fuse(graph, misses=misses)
    check(graph)
    return graph, print_graph(graph).splitlines()[3:], misses


def test_what_was_fused_is_fused_further_in_one_walk() -> None:
    text = "%e = exp(%x)\n%a = add(%e, 1.0)\n%s = log(%a)\n%t = tanh(%s)\n%y = mul(%x, %t)\nreturn %y"
    assert after(text)[1] == ["%y: float32[%x.shape[0], 8] = mish(%x)", "return %y"]


def test_scope_and_origin_are_those_of_all_nodes() -> None:
    text = "%s = sigmoid(%x) @block.act 'Sigmoid_1'\n%y = mul(%x, %s) @block.mul 'Mul_2'\nreturn %y"
    graph, lines, _ = after(text)
    assert lines[0] == "%y: float32[%x.shape[0], 8] = silu(%x) @block 'Sigmoid_1', 'Mul_2'"
    (note,) = graph.notes
    assert (note.code, note.where) == ("MIG315", "Mul_2") and note.what.startswith("silu: 1 times")


def test_what_was_computed_for_the_pieces_alone_goes_and_no_more() -> None:
    text = """%r = relu(%x)
%s = sigmoid(%r)
%y = mul(%r, %s)
%z = tanh(%r)
return %y, %z"""
    assert [line.partition(" = ")[2] for line in after(text)[1][:3]] == ["relu(%x)", "silu(%r)", "tanh(%r)"]


def test_a_near_miss_is_told_once() -> None:
    text = "%s = sigmoid(%x) 'Sigmoid_1'\n%y = mul(%x, %s) 'Mul_2'\nreturn %y, %s"
    _, lines, misses = after(text)
    assert len(lines) == 3
    assert [str(miss) for miss in misses] == ["silu at Mul_2: %s, computed on the way, is an output"]


def test_what_an_author_wrote_stays_as_written() -> None:
    graph = parse_graph(HEAD + "%s = sigmoid(%x)\n%y = mul(%x, %s)\nreturn %y")
    graph.classes = {(): "Model"}
    assert fuse_exported(graph) == 0 and len(graph.nodes) == 2
    graph.classes = {}
    assert fuse_exported(graph) == 1 and len(graph.nodes) == 1


BLOCKS = """%y = if_(%flag)
  block
    %a = sigmoid({inside})
    %b = mul({inside}, %a)
    yield %b
  block
    yield %x
return %y"""


def test_blocks_have_fusions_of_their_own() -> None:
    _, lines, _ = after(BLOCKS.format(inside="%x"))
    assert lines[2] == "    %b: float32[%x.shape[0], 8] = silu(%x)"


def test_nothing_is_fused_across_the_border_of_a_block() -> None:
    text = BLOCKS.replace("    %a = sigmoid({inside})\n", "").format(inside="%x")
    _, lines, misses = after("%a = sigmoid(%x)\n" + text)
    assert len(lines) == 8 and [miss.why for miss in misses] == [
        "%a, computed on the way, is computed around the block"
    ]


def test_a_use_inside_a_block_is_a_use() -> None:
    text = "%s = sigmoid(%x)\n%m = mul(%x, %s)\n" + BLOCKS.format(inside="%s").replace("yield %x", "yield %m")
    _, lines, misses = after(text)
    assert "mul(%x, %s)" in lines[1] and "is used by `if_` too" in misses[-1].why


BLOCK = """graph m
input %x: float32[4, 2, 64, 32]
weight $w: float32[32, 32] parameter
weight $g: float32[32] parameter
%m = mean(%x, (3,), keepdim=True)
%c = sub(%x, %m)
%p = pow(%c, 2.0)
%v = mean(%p, (3,), keepdim=True)
%e = add(%v, 1e-05)
%r = sqrt(%e)
%d = div(%c, %r)
%n = mul(%d, $g)
%q = linear(%n, $w)
%k = linear(%q, $w)
%t = permute(%k, (0, 1, 3, 2))
%a = matmul(%q, %t)
%s = mul(%a, 0.17677669)
%o = softmax(%s, dim=-1)
%h = matmul(%o, %k)
%u = div(%h, 1.4142135381698608)
%f = erf(%u)
%l = add(%f, 1.0)
%i = mul(%h, %l)
%y = mul(%i, 0.5)
return %y
"""


def saved_bytes(graph: Graph) -> int:
    """What autograd keeps of a forward pass for the backward pass, in bytes; a storage counts once."""
    kept: dict[int, torch.Tensor] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    graph.inputs += graph.weights()
    inputs = [torch.ones([int(str(size)) for size in value.shape]).requires_grad_() for value in graph.inputs]
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        interpret(graph, *inputs)
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())


def test_what_is_fused_keeps_less_for_the_backward_pass() -> None:
    before, fused = parse_graph(BLOCK), parse_graph(BLOCK)
    fuse(fused)
    assert [node.op.name for node in fused.nodes] == ["layer_norm", "linear", "linear", "sdpa", "gelu"]
    assert saved_bytes(fused) < 0.65 * saved_bytes(before)


def test_near_misses_of_no_fusion() -> None:
    with pytest.raises(KeyError, match="layer_norm"):
        near_misses(parse_graph(HEAD + "return %x"), "nothing")


def test_a_long_graph_takes_no_longer_per_node() -> None:
    """Ten times the nodes, far less than a hundred times the time."""

    def seconds(count: int) -> float:
        parts = [f"%s{i} = sigmoid(%y{i})\n%y{i + 1} = mul(%y{i}, %s{i})" for i in range(count)]
        graph = parse_graph(HEAD + "%y0 = relu(%x)\n" + "\n".join(parts) + f"\nreturn %y{count}")
        start = time.perf_counter()
        assert fuse(graph) == count
        return time.perf_counter() - start

    seconds(10)
    assert seconds(1000) < 40 * seconds(100) + 0.1
