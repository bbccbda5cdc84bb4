"""What is trained, and how a run begins."""

from dataclasses import replace

import numpy as np
import pytest

from migrate.errors import MigrateError
from migrate.graph import Graph
from migrate.graph.passes import default_passes, run_passes
from migrate.graph.text import parse_graph
from migrate.options import Options
from migrate.training import choose_trainable, train_settings


def graph(fill: float | None = None) -> Graph:
    made = parse_graph(
        """graph m
input %x: float32[batch=2|3|5, 4]
weight $w: float32[4, 4] unknown
weight $table: float32[4] unknown
%a = linear(%x, $w, None)
%y = maximum(%a, $table)
return %y"""
    )
    for value in made.weights():
        array = np.random.default_rng(0).standard_normal(value.shape) if fill is None else np.full(value.shape, fill)
        value.weight = replace(value.weight, read=lambda array=array: array)
    run_passes(made)
    return made


def trained(made: Graph) -> set[str]:
    return {v.name for v in made.weights() if v.weight.role == "parameter" and v.weight.trainable}


def test_patterns_choose_what_is_trained_and_trainable_is_stronger() -> None:
    made = graph()
    choose_trainable(made, Options(trainable=("tab*", "w"), freeze=("*",)), "m")
    assert trained(made) == {"w", "table"}


@pytest.mark.parametrize(("options", "code"), [({"freeze": ("w",)}, "MIG313"), ({"freeze": ("nothing",)}, "MIG115")])
def test_a_choice_that_makes_no_sense_is_refused(options: dict, code: str) -> None:
    with pytest.raises(MigrateError) as caught:
        choose_trainable(graph(), Options(**options), "m")
    assert [d.code for d in caught.value.diagnostics] == [code]


def test_a_complex_parameter_is_refused() -> None:
    made = graph()
    (value,) = (v for v in made.weights() if v.name == "w")
    value.dtype = "complex64"
    with pytest.raises(MigrateError) as caught:
        choose_trainable(made, Options(), "m")
    assert [(d.code, d.where) for d in caught.value.diagnostics] == [("MIG318", "w")]


@pytest.mark.parametrize(("fill", "pretrained"), [(None, True), (0.02, False)])
def test_a_source_without_trained_weights_starts_afresh_and_says_so(fill: float | None, pretrained: bool) -> None:
    made = graph(fill)
    assert train_settings(made, Options()).train["train"]["pretrained"] is pretrained
    assert [n.code for n in made.notes if n.code == "MIG314"] == ([] if pretrained else ["MIG314"])


@pytest.mark.parametrize("inferred", [False, True])
def test_statistics_that_were_guessed_are_frozen(inferred: bool) -> None:
    made = parse_graph(
        """graph m
input %x: float32[batch=2|3|5, 2, 4, 4]
weight $f: float32[3, 2, 3, 3] unknown
weight $w: float32[3, 1, 1] unknown
weight $b: float32[3, 1, 1] unknown
%a = conv2d(%x, $f)
%g = mul(%a, $w)
%y = add(%g, $b)
return %y"""
    )
    for value in made.weights():
        array = np.random.default_rng(0).standard_normal(value.shape).astype("float32")
        value.weight = replace(value.weight, read=lambda array=array: array)
    run_passes(made, default_passes(inferred=inferred))
    assert train_settings(made, Options()).train["train"].get("freeze_statistics", False) is inferred
