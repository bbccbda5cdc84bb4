"""Passes, before and after on one screen."""

from dataclasses import replace

import numpy as np
import pytest

from migrate.graph.passes import Pass, run_passes
from migrate.graph.passes.assign_roles import ASSIGN_ROLES
from migrate.graph.passes.join_bias import JOIN_BIAS
from migrate.graph.passes.remove_dead import REMOVE_DEAD
from migrate.graph.passes.separate_weights import SEPARATE_WEIGHTS
from migrate.graph.passes.tie_weights import TIE_WEIGHTS
from migrate.graph.text import parse_graph, print_graph

HEAD = "graph m\ninput %x: float32[batch=2|3|5, 4]\n"


def after(text: str, *passes: Pass) -> str:
    graph = parse_graph(HEAD + text)
    run_passes(graph, list(passes))
    lines = print_graph(graph).removeprefix("graph m\n").splitlines()[1:]
    return "\n".join(lines)


def test_remove_dead() -> None:
    before = """%a = relu(%x)
%b = sigmoid(%x)
%c = tanh(%a)
return %b"""
    assert after(before, REMOVE_DEAD) == "%b: float32[%x.shape[0], 4] = sigmoid(%x)\nreturn %b"


def test_a_fresh_batch_norm_whose_vectors_were_merged_is_taken_apart() -> None:
    before = """weight $ones: float32[4] unknown
weight $zeros: float32[4] unknown
%a = batch_norm(%x, $zeros, $ones, $ones, $zeros, training=False)
%b = batch_norm(%a, $zeros, $ones, $ones, $zeros, training=False)
return %b"""
    text = after(before, SEPARATE_WEIGHTS, ASSIGN_ROLES)
    assert text.count("parameter") == 4
    assert text.count("buffer") == 4


def test_a_running_statistic_is_a_buffer_and_all_else_follows_its_use() -> None:
    before = """weight $w: float32[4, 4] unknown
weight $mean: float32[4] unknown
weight $var: float32[4] unknown
weight $gain: float32[1] unknown
weight $mask: float32[4] unknown
weight $index: int64[2] unknown
%a = linear(%x, $w, None)
%b = batch_norm(%a, $mean, $var, None, None, training=False)
%c = mul(%b, $gain)
%d = maximum(%c, $mask)
%e = index_select(%d, 1, $index)
return %e"""
    roles = dict(line.split(":")[::1] for line in after(before, SEPARATE_WEIGHTS, ASSIGN_ROLES).splitlines()[:6])
    assert {name.split("$")[1]: rest.split()[-1] for name, rest in roles.items()} == {
        "w": "parameter", "mean": "buffer", "var": "buffer", "gain": "parameter", "mask": "buffer", "index": "buffer",
    }  # fmt: skip


def test_what_a_weight_is_computed_from_is_trained() -> None:
    """A direction and a length make the weight; a table of angles is none."""
    before = """weight $direction: float32[4, 4] unknown
weight $length: float32[4, 1] unknown
weight $log: float32[4] unknown
weight $angles: float32[4] unknown
%n = vector_norm($direction, 2, (1,), keepdim=True)
%d = div($direction, %n)
%w = mul(%d, $length)
%a = linear(%x, %w, None)
%e = exp($log)
%b = mul(%a, %e)
%s = sin($angles)
%c = mul(%b, %s)
return %c"""
    roles = [line.split() for line in after(before, SEPARATE_WEIGHTS, ASSIGN_ROLES).splitlines()[:4]]
    assert {line[1].strip("$:"): line[-1] for line in roles} == {
        "direction": "parameter", "length": "parameter", "log": "parameter", "angles": "buffer",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("maker", "weight", "use", "role"),
    [
        ("module", "$w: float32[4]", "sub(%h, $w)", "parameter"),
        ("unknown", "$w: float32[4]", "sub(%h, $w)", "buffer"),
        ("module", "$w: float32[4]", "sub(%x, $w)", "buffer"),
        ("module", "$running_mean: float32[4]", "sub(%h, $running_mean)", "buffer"),
        ("module", "$w: float32[1]", "pow(%h, $w)", "parameter"),
        ("unknown", "$w: float32[1]", "pow(%h, $w)", "buffer"),
        ("module", "$w: float32[4]", "where(%m, %h, $w)", "parameter"),
        ("unknown", "$w: float32[1]", "mul(%h, $w)", "parameter"),
        ("exporter", "$w: float32[1]", "mul(%h, $w)", "buffer"),
        ("exporter", "$w: float32[4]", "mul(%h, $w)", "buffer"),
        ("exporter", "$w: float32[4]", "add(%h, $w)", "parameter"),
        ("exporter", "$w: float32[4, 4]", "linear(%h, $w)", "parameter"),
    ],
)
def test_roles_in_arithmetic(maker: str, weight: str, use: str, role: str) -> None:
    """Away from the inputs a module's attribute is trained; what the exporter made, all zeros here, is a constant."""
    graph = parse_graph(f"{HEAD}weight {weight} unknown\n%h = relu(%x)\n%m = gt(%h, 0.5)\n%y = {use}\nreturn %y")
    (value,) = graph.weights()
    value.weight = replace(value.weight, maker=maker)
    run_passes(graph, [SEPARATE_WEIGHTS, ASSIGN_ROLES])
    assert [value.weight.role for value in graph.weights()] == [role]


@pytest.mark.parametrize(("ratio", "role"), [(0.1, "buffer"), (1.0, "parameter")])
def test_frequencies_are_a_table(ratio: float, role: str) -> None:
    graph = parse_graph(HEAD + "weight $inv_freq: float32[4] unknown\n%a = mul(%x, $inv_freq)\n%y = sin(%a)\nreturn %y")
    (value,) = graph.weights()
    value.weight = replace(value.weight, read=lambda: np.power(ratio, np.arange(4, dtype="float32")))
    run_passes(graph, [SEPARATE_WEIGHTS, ASSIGN_ROLES])
    assert [value.weight.role for value in graph.weights()] == [role]


@pytest.mark.parametrize("use", ["getitem($w, (slice(None, 4),))", "reciprocal($w)"])
def test_parts_of_a_vector_and_what_is_computed_from_it_stay_one_parameter(use: str) -> None:
    """The biases of queries and keys in one fresh vector; an exponent and its reciprocal."""
    graph = parse_graph(
        f"{HEAD}weight $w: float32[4] unknown\n%a = add(%x, $w)\n%p = {use}\n%b = mul(%a, %p)\nreturn %b"
    )
    run_passes(graph, [SEPARATE_WEIGHTS, ASSIGN_ROLES])
    assert len(graph.weights()) == 1


def test_a_matrix_in_two_layers_stays_one_parameter() -> None:
    before = """weight $w: float32[4, 4] unknown
%a = linear(%x, $w, None)
%b = linear(%a, $w, None)
return %b"""
    text = after(before, SEPARATE_WEIGHTS, ASSIGN_ROLES, TIE_WEIGHTS)
    assert text.count("weight $") == 1
    assert text.count("$w") == 3


@pytest.mark.parametrize(("equal", "weights"), [(True, 1), (False, 2)])
def test_an_embedding_and_a_head_with_equal_elements_are_tied(equal: bool, weights: int) -> None:
    graph = parse_graph(
        """graph m
input %i: int64[batch=2|3|5, 7]
weight $table: float32[9, 4] unknown
weight $head: float32[9, 4] unknown
%e = embedding(%i, $table)
%y = linear(%e, $head, None)
return %y"""
    )
    table = np.random.default_rng(0).standard_normal((9, 4)).astype("float32")
    for value in graph.weights():
        array = table if equal or value.name == "table" else table + 1e-6
        value.weight = replace(value.weight, read=lambda array=array: array)
    run_passes(graph)
    assert len(graph.weights()) == weights
    assert [n.code for n in graph.notes] == (["MIG312"] if equal else [])


def test_a_pass_that_requires_what_none_ensures_is_refused() -> None:
    with pytest.raises(ValueError, match="'assign_roles' requires"):
        run_passes(parse_graph(HEAD + "return %x"), [ASSIGN_ROLES])


MOVED = [
    ("%p = getitem($pos, slice(0, 4, None))\n%y = add(%x, %p)", "parameter"),
    ("%p = expand($pos, (%x.shape[0], 4))\n%y = cat((%x, %p), dim=1)", "parameter"),
    ("%a, %b = split($pos, (2, 2), dim=0)\n%p = cat((%b, %a), dim=0)\n%y = mul(%x, %p)", "parameter"),
    ("%p = expand($pos, (%x.shape[0], 4))\n%y = maximum(%x, %p)", "buffer"),
]


@pytest.mark.parametrize(("body", "role"), MOVED)
def test_a_tensor_that_is_moved_first_has_the_role_of_what_it_becomes(body: str, role: str) -> None:
    text = after(f"weight $pos: float32[4] unknown\n{body}\nreturn %y", SEPARATE_WEIGHTS, ASSIGN_ROLES)
    assert f"weight $pos: float32[4] {role}" in text


@pytest.mark.parametrize(("least", "role"), [(-np.inf, "buffer"), (-10000.0, "buffer"), (-3.0, "parameter")])
def test_a_mask_that_is_added_is_no_parameter(least: float, role: str) -> None:
    graph = parse_graph(HEAD + "weight $mask: float32[1, 4] unknown\n%y = add(%x, $mask)\nreturn %y")
    (mask,) = graph.weights()
    array = np.array([[0, least, 0, 0]], dtype="float32")
    mask.weight = replace(mask.weight, read=lambda: array)
    run_passes(graph)
    assert mask.weight.role == role


PREPARED = (SEPARATE_WEIGHTS, ASSIGN_ROLES, TIE_WEIGHTS)
JOINED = [
    "%a = linear(%x, $w, None)\n%y = add(%a, $bias)\nreturn %y",
    "%a = linear(%x, $w)\n%y = add($bias, %a)\nreturn %y",
    "%a = linear(%x, $w, None)\n%b = add(%a, $bias)\n%y = reshape(%b, (%a.shape[0], 2, 2))\nreturn %y",
]
NOT_JOINED = [
    "%a = linear(%x, $w, $other)\n%y = add(%a, $bias)\nreturn %y",  # it has a bias
    "%a = linear(%x, $w, None)\n%y = add(%a, $bias)\nreturn %y, %a",  # the product is used elsewhere
    "%a = linear(%x, $w, None)\n%y = add(%a, %x)\nreturn %y",  # no weight
    "%a = linear(%x, $w, None)\n%y = add(%a, $table)\nreturn %y",  # not one element per channel
    "%a = linear(%x, $w, None)\n%y = mul(%a, $bias)\nreturn %y",  # no sum
]
WEIGHTS = "".join(
    f"weight ${name} unknown\n"
    for name in ("w: float32[4, 4]", "bias: float32[4]", "other: float32[4]", "table: float32[1]")
)


@pytest.mark.parametrize("body", JOINED)
def test_a_bias_is_joined_to_its_layer(body: str) -> None:
    text = after(WEIGHTS + body, *PREPARED, JOIN_BIAS)
    assert "linear(%x, $w, $bias)" in text
    assert "add" not in text


@pytest.mark.parametrize("body", NOT_JOINED)
def test_no_bias_is_joined(body: str) -> None:
    assert after(WEIGHTS + body, *PREPARED, JOIN_BIAS) == after(WEIGHTS + body, *PREPARED)


@pytest.mark.parametrize(
    ("shape", "joins"), [("8, 1, 1", True), ("1, 8, 1, 1", True), ("6", False), ("1, 8, 1, 6", False)]
)
def test_the_bias_of_a_convolution_lies_on_its_channels(shape: str, joins: bool) -> None:
    graph = parse_graph(
        f"""graph m
input %x: float32[batch=2|3|5, 3, 8, 6]
weight $w: float32[8, 3, 1, 1] unknown
weight $bias: float32[{shape}] unknown
%a = conv2d(%x, $w, None)
%y = add(%a, $bias)
return %y"""
    )
    run_passes(graph)
    assert [node.op.name for node in graph.nodes] == (["conv2d"] if joins else ["conv2d", "add"])
    if joins:
        assert graph.nodes[0].args[2].shape == (8,)
